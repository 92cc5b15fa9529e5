# SPDX-License-Identifier: LGPL-2.1-or-later
# cmake -D IN=FILE -D OUT=FILE.c -D NAME=VARIABLE -D HEADER=NAME.h -P html_embed.cmake: the file as a string of C, which
# the header declares.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
string(REGEX REPLACE "(.......,.......,.......,.......,.......,.......,.......,.......,.......,.......,.......,.......,)" "\\1\n"
       bytes "${bytes}")
file(WRITE ${OUT} "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${bytes}'\\0'};\n")
