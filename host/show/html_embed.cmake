# SPDX-License-Identifier: LGPL-2.1-or-later
# cmake -D IN=FILE -D OUT=FILE.c -D NAME=VARIABLE -P html_embed.cmake: the file as a string of C, for html_assets.h.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
string(REGEX REPLACE "(.......,.......,.......,.......,.......,.......,.......,.......,.......,.......,.......,.......,)" "\\1\n"
       bytes "${bytes}")
file(WRITE ${OUT} "#include \"show/html_assets.h\"\n\nconst char ${NAME}[] = {\n${bytes}'\\0'};\n")
