# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_OTLP: the sink of traces, of libraries that other parts have asked for.
AC_DEFUN([X_AC_OTLP], [
	otlp_missing=$curl_missing
	AS_IF([test -z "$otlp_missing"], [otlp_missing=$jansson_missing])
	AS_IF([test -z "$PROTOBUF_C_LIBS"], [otlp_missing="libprotobuf-c is missing (Debian: libprotobuf-c-dev)"])
	AS_IF([test -z "$PROTOC_C"], [otlp_missing="protoc-c is missing (Debian: protobuf-c-compiler)"])
	AS_IF([test -z "$ZLIB_LIBS"], [otlp_missing="zlib is missing (Debian: zlib1g-dev)"])
	X_AC_PART([otlp], [the sink of traces], [otlp_missing])
	AM_CONDITIONAL([BUILD_OTLP], [test "x$part_otlp" = xyes])
	AS_IF([test "x$part_otlp" = xyes], [AC_DEFINE([HAVE_OTLP], [1], [The sink of traces is built.])])
])
