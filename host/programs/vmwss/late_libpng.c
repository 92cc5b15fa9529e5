// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file late_libpng.c  The functions of libpng that vmwss calls, only for vmwss map --png. The
 * packages recommend the library. */
#include "base/late_library.h"

#include <png.h>

static struct late_library libpng = {.soname = "libpng16.so.16"};

LATE_FUNCTION(libpng, png_uint_32, png_access_version_number, (void), ())
LATE_FUNCTION(libpng, int, png_image_write_to_memory,
              (png_imagep image, void *memory, png_alloc_size_t *PNG_RESTRICT memory_bytes,
               int convert_to_8_bit, const void *buffer, png_int_32 row_stride,
               const void *colormap),
              (image, memory, memory_bytes, convert_to_8_bit, buffer, row_stride, colormap))
