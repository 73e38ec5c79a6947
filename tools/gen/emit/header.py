# SPDX-License-Identifier: BSD-3-Clause
"""The calls of waitio_mpi.h: their names, their parameters, and what each parameter is for."""

import re
from dataclasses import dataclass

# C's short names of parameters, and MPI's, which Fortran programs may use as keywords.
NAMES = {
    "sbuf": "sendbuf",
    "rbuf": "recvbuf",
    "scount": "sendcount",
    "rcount": "recvcount",
    "stype": "sendtype",
    "rtype": "recvtype",
    "stag": "sendtag",
    "rtag": "recvtag",
    "scounts": "sendcounts",
    "rcounts": "recvcounts",
    "stypes": "sendtypes",
    "rtypes": "recvtypes",
    "type": "datatype",
    "req": "request",
    "reqs": "requests",
    "function": "user_function",
    "class_": "errorclass",
    "index_": "index",
    "in": "inbuf",
    "inout": "inoutbuf",
}
NEW = {
    "comm": "newcomm",
    "group": "newgroup",
    "datatype": "newtype",
    "info": "newinfo",
    "int": "ranks2",
    "buffer": "outbuf",
}
LOGICALS = {"flag", "commute", "reorder", "periods", "remain", "weighted", "high"}
HANDLES = {
    "WAITIO_MPI_Comm": "comm",
    "WAITIO_MPI_Group": "group",
    "WAITIO_MPI_Datatype": "datatype",
    "WAITIO_MPI_Op": "op",
    "WAITIO_MPI_Info": "info",
    "WAITIO_MPI_Errhandler": "errhandler",
    "WAITIO_MPI_Message": "message",
}
PLAIN = {
    "int": "int",
    "WAITIO_MPI_Aint": "aint",
    "WAITIO_MPI_Offset": "aint",
    "WAITIO_MPI_Count": "count",
    "WAITIO_MPI_Request": "request",
    "WAITIO_MPI_Status": "status",
    "WAITIO_MPI_User_function": "function",
    "WAITIO_MPI_User_function_c": "wide_function",
    "WAITIO_MPI_Comm_copy_attr_function": "copy_function",
    "WAITIO_MPI_Comm_delete_attr_function": "delete_function",
    "WAITIO_MPI_Type_copy_attr_function": "copy_function",
    "WAITIO_MPI_Type_delete_attr_function": "delete_function",
    "WAITIO_MPI_Comm_errhandler_function": "error_function",
    "WAITIO_MPI_Grequest_query_function": "query_function",
    "WAITIO_MPI_Grequest_free_function": "free_function",
    "WAITIO_MPI_Grequest_cancel_function": "cancel_function",
    "char": "text",
    "void": "buffer",
}


@dataclass
class Parameter:
    """One parameter. kind: a value of PLAIN or HANDLES, or "logical", "index" (counts from 1 in
    Fortran), "attribute" (a word), "pointer" (where an address is put). way: "in", "out" or
    "inout"."""

    name: str
    kind: str
    way: str
    array: bool = False


@dataclass
class Call:
    """A function that returns a code."""

    name: str
    parameters: list
    lead: str = ""  # arguments of C that Fortran does not have

    @property
    def fortran(self):
        return self.name.lower()

    def of_kind(self, *kinds):
        return [p for p in self.parameters if p.kind in kinds]

    @property
    def starts(self):
        """Whether the call gives out a request: buffers stay in use after it."""
        return any(p.kind == "request" and p.name == "request" for p in self.parameters)


def kind_of(base, name):
    if base in HANDLES:
        return HANDLES[base]
    if base == "int" and name in LOGICALS:
        return "logical"
    if base == "int" and name in ("index", "indices"):
        return "index"
    if name in ("buffer_address", "base_address"):
        return "pointer"
    if base == "void" and name in ("value", "extra_state"):
        return "attribute"
    return PLAIN[base]


def way_of(call, name, kind, by_address, constant):
    """The header's types do not tell a result from an argument that is changed."""
    if not by_address or constant or kind.endswith("function") or name == "ranges":
        return "in"
    if kind in ("request", "status", "message", "buffer"):
        return "inout"
    if kind == "attribute":
        return "out" if call.lower().endswith("get_attr") or call.endswith("Attr_get") else "in"
    if name == "position" or (call.endswith("Info_get_string") and name == "room"):
        return "inout"
    if call.endswith(("_free", "Type_commit", "Dims_create", "_keyval")):
        return "out" if call.endswith("_create_keyval") else "inout"
    return "out"


def parameter(call, text):
    found = re.fullmatch(r"(const )?(\w+) (\**)(\w+)(\[\])?(\[3\])?", text)
    if not found:
        raise ValueError(f"{call}: cannot read the parameter '{text}'")
    constant, base, stars, name, array, _ = found.groups()
    kind = kind_of(base, name)
    way = way_of(call, name, kind, bool(stars or array), bool(constant))
    if array and way == "out" and base in HANDLES:
        way = "inout"  # Fortran: types with initial values have no intent(out) of any size
    if name == "out":
        name = NEW[kind]
    return Parameter(NAMES.get(name, name), kind, way, bool(array))


# What main() got, which Fortran does not pass.
OF_MAIN = ("int *argc", "char ***argv", "int argc", "char *argv[]")


def read_calls(header):
    """Return (calls that return a code, names of all other functions) in the header's order."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    calls, others = [], []
    for result, star, name, rest in re.findall(
        r"^(\w+) (\*?)(\w+)\(([^;{]*)\);", text, flags=re.M | re.S
    ):
        parameters = [" ".join(p.split()) for p in rest.split(",") if rest.strip() != "void"]
        lead = "NULL, NULL" if "char ***argv" in parameters else ""
        lead = "0, NULL" if "char *argv[]" in parameters else lead
        parameters = [p for p in parameters if p not in OF_MAIN]
        if result != "int" or star or "..." in rest or re.search(r"_[cf]2[cf]$", name):
            others.append(name)
        elif name.startswith("WAITIO_MPI_"):
            calls.append(Call(name, [parameter(name, p) for p in parameters], lead))
        else:
            others.append(name)
    return calls, others


# Numbers that are no kind of handle, beside those above the mark.
HANDLE_CONSTANTS = {
    "WAITIO_MPI_DATATYPE_NULL": "datatype",
    "WAITIO_MPI_OP_NULL": "op",
    "WAITIO_MPI_INFO_NULL": "info",
    "WAITIO_MPI_INFO_ENV": "info",
    "WAITIO_MPI_ERRHANDLER_NULL": "errhandler",
    "WAITIO_MPI_ERRORS_ARE_FATAL": "errhandler",
    "WAITIO_MPI_ERRORS_RETURN": "errhandler",
}


def read_constants(header, basic):
    """(name, kind, number) of every constant with a number; kind as in HANDLES, or "int".
    Some stand for numbers of the basic header."""
    found = re.findall(r"#define (WAITIO_MPI_\w+) \(?(-?\w+)\)?(?: /\*.*)?$", header, flags=re.M)
    values = dict(re.findall(r"#define (WAITIO_\w+) \(?(-?\d+)\)?", basic + header))
    out, kind = [], "datatype"
    for name, text in found:
        text = values.get(text, text)
        if name == "WAITIO_MPI_DEFTAG" or not re.fullmatch(r"-?\d+", text):
            continue
        mine = HANDLE_CONSTANTS.get(name, kind if 524288 < int(text) < 524800 else "int")
        out.append((name, mine, int(text)))
        if name == "WAITIO_MPI_DATATYPE_NULL":
            kind = "op"
    return out
