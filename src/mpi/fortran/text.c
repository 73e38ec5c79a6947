/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: calls with texts (names, hints, versions). Lengths of characters come last, hidden. */
#include "mpi/fortran/fortran.h"
#include "os/os.h"

void wio_fortran_put_text(char *out, size_t room, const char *text)
{
    size_t n = strlen(text);

    memset(out, ' ', room);
    memcpy(out, text, n < room ? n : room);
}

enum { ROOM = WAITIO_MPI_MAX_INFO_VAL };

/* Without the blanks at its end, and around it when it is a key. */
static int get_text(const char *text, size_t length, char out[ROOM])
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    if (length >= ROOM)
        return wio_fail(WAITIO_ERR_ARG, "a text of %zu characters is too long: %d are possible",
                        length, ROOM - 1);
    memcpy(out, text, length);
    out[length] = '\0';
    return 0;
}

#define DO(UPPER, EXPRESSION) wio_fortran_result("WAITIO_MPI_" UPPER, (EXPRESSION), ierr)
/* With a text in `a` first. */
#define DO_WITH(UPPER, TEXT, LENGTH, EXPRESSION)                                                   \
    do {                                                                                           \
        char a[ROOM];                                                                              \
        int code = wio_mpi_result("WAITIO_MPI_" UPPER, get_text(TEXT, LENGTH, a));                 \
        DO(UPPER, code != 0 ? code : (EXPRESSION));                                                \
    } while (0)

WIO_FORTRAN(waitio_mpi_comm_set_name_,
            (const void *comm, const char *name, fint *ierr, size_t length))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_COMM_SET_NAME", comm, &c);

    if (rc == 0)
        DO_WITH("COMM_SET_NAME", name, length, WAITIO_MPI_Comm_set_name(c, a));
    else
        DO("COMM_SET_NAME", rc);
}

WIO_FORTRAN(waitio_mpi_comm_get_name_,
            (const void *comm, char *name, fint *length, fint *ierr, size_t room))
{
    char text[WAITIO_MPI_MAX_OBJECT_NAME] = "";

    WIO_WITH_COMM("WAITIO_MPI_COMM_GET_NAME", WAITIO_MPI_Comm_get_name(c, text, length));
    wio_fortran_put_text(name, room, text);
}

WIO_FORTRAN(waitio_mpi_type_set_name_,
            (const fint *type, const char *name, fint *ierr, size_t length))
{
    DO_WITH("TYPE_SET_NAME", name, length, WAITIO_MPI_Type_set_name(*type, a));
}

WIO_FORTRAN(waitio_mpi_type_get_name_,
            (const fint *type, char *name, fint *length, fint *ierr, size_t room))
{
    char text[WAITIO_MPI_MAX_OBJECT_NAME] = "";

    DO("TYPE_GET_NAME", WAITIO_MPI_Type_get_name(*type, text, length));
    wio_fortran_put_text(name, room, text);
}

WIO_FORTRAN(waitio_mpi_add_error_string_,
            (const fint *number, const char *text, fint *ierr, size_t length))
{
    DO_WITH("ADD_ERROR_STRING", text, length, WAITIO_MPI_Add_error_string(*number, a));
}

WIO_FORTRAN(waitio_mpi_get_library_version_, (char *out, fint *length, fint *ierr, size_t room))
{
    char text[WAITIO_MPI_MAX_LIBRARY_VERSION_STRING] = "";

    DO("GET_LIBRARY_VERSION", WAITIO_MPI_Get_library_version(text, length));
    wio_fortran_put_text(out, room, text);
}

/* ---- hints ---- */

WIO_FORTRAN(waitio_mpi_info_create_, (fint * info, fint *ierr))
{
    DO("INFO_CREATE", WAITIO_MPI_Info_create(info));
}

WIO_FORTRAN(waitio_mpi_info_dup_, (const fint *info, fint *out, fint *ierr))
{
    DO("INFO_DUP", WAITIO_MPI_Info_dup(*info, out));
}

WIO_FORTRAN(waitio_mpi_info_free_, (fint * info, fint *ierr))
{
    DO("INFO_FREE", WAITIO_MPI_Info_free(info));
}

WIO_FORTRAN(waitio_mpi_info_set_, (const fint *info, const char *key, const char *value, fint *ierr,
                                   size_t key_length, size_t value_length))
{
    char text[ROOM];
    int rc = wio_mpi_result("WAITIO_MPI_INFO_SET", get_text(value, value_length, text));

    if (rc == 0)
        DO_WITH("INFO_SET", key, key_length, WAITIO_MPI_Info_set(*info, a, text));
    else
        DO("INFO_SET", rc);
}

WIO_FORTRAN(waitio_mpi_pack_external_,
            (const char *datarep, const void *in, const fint *count, const fint *type, void *out,
             const faint *room, faint *position, fint *ierr, size_t length))
{
    DO_WITH(
        "PACK_EXTERNAL", datarep, length,
        WAITIO_MPI_Pack_external(a, wio_fortran_buffer(in), *count, *type, out, *room, position));
}

WIO_FORTRAN(waitio_mpi_unpack_external_,
            (const char *datarep, const void *in, const faint *room, faint *position, void *out,
             const fint *count, const fint *type, fint *ierr, size_t length))
{
    DO_WITH(
        "UNPACK_EXTERNAL", datarep, length,
        WAITIO_MPI_Unpack_external(a, in, *room, position, wio_fortran_buffer(out), *count, *type));
}

WIO_FORTRAN(waitio_mpi_pack_external_size_,
            (const char *datarep, const fint *count, const fint *type, faint *size, fint *ierr,
             size_t length))
{
    DO_WITH("PACK_EXTERNAL_SIZE", datarep, length,
            WAITIO_MPI_Pack_external_size(a, *count, *type, size));
}

WIO_FORTRAN(waitio_mpi_info_delete_,
            (const fint *info, const char *key, fint *ierr, size_t key_length))
{
    DO_WITH("INFO_DELETE", key, key_length, WAITIO_MPI_Info_delete(*info, a));
}

WIO_FORTRAN(waitio_mpi_info_get_,
            (const fint *info, const char *key, const fint *wanted, char *value, fint *flag,
             fint *ierr, size_t key_length, size_t room))
{
    char text[ROOM] = "";
    int found = 0;

    DO_WITH("INFO_GET", key, key_length,
            WAITIO_MPI_Info_get(*info, a, *wanted < ROOM ? *wanted : ROOM - 1, text, &found));
    if (found)
        wio_fortran_put_text(value, room, text);
    wio_fortran_logical(flag, found);
}

WIO_FORTRAN(waitio_mpi_info_create_env_, (fint * info, fint *ierr))
{
    DO("INFO_CREATE_ENV", WAITIO_MPI_Info_create_env(0, NULL, info));
}

/* Fortran's texts have no end: room and length do not count it. */
WIO_FORTRAN(waitio_mpi_info_get_string_,
            (const fint *info, const char *key, fint *wanted, char *value, fint *flag, fint *ierr,
             size_t key_length, size_t room))
{
    char text[ROOM] = "";
    int found = 0, length = *wanted > 0 ? (*wanted < ROOM ? *wanted + 1 : ROOM) : 0;

    DO_WITH("INFO_GET_STRING", key, key_length,
            WAITIO_MPI_Info_get_string(*info, a, &length, text, &found));
    if (found && *wanted > 0)
        wio_fortran_put_text(value, room, text);
    if (found)
        *wanted = length - 1;
    wio_fortran_logical(flag, found);
}

WIO_FORTRAN(waitio_mpi_info_get_valuelen_, (const fint *info, const char *key, fint *length,
                                            fint *flag, fint *ierr, size_t key_length))
{
    int found = 0;

    DO_WITH("INFO_GET_VALUELEN", key, key_length,
            WAITIO_MPI_Info_get_valuelen(*info, a, length, &found));
    wio_fortran_logical(flag, found);
}

WIO_FORTRAN(waitio_mpi_info_get_nkeys_, (const fint *info, fint *n, fint *ierr))
{
    DO("INFO_GET_NKEYS", WAITIO_MPI_Info_get_nkeys(*info, n));
}

WIO_FORTRAN(waitio_mpi_info_get_nthkey_,
            (const fint *info, const fint *n, char *key, fint *ierr, size_t room))
{
    char text[WAITIO_MPI_MAX_INFO_KEY] = "";

    DO("INFO_GET_NTHKEY", WAITIO_MPI_Info_get_nthkey(*info, *n, text));
    wio_fortran_put_text(key, room, text);
}
