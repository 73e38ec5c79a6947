# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx directives that make the reference pages of Python and Fortran from the sources.

``waitio-python``: the public names are those of python/waitio/__init__.pyi, or of the package that
the argument names (waitio.coupler); signatures come from the stubs and the package's modules, texts
from the docstrings in python/cython and python/waitio.
``waitio-python-module``: the functions of a file in python/.
``waitio-fortran``: procedures, types and their comments come from the modules in fortran/.
Nothing is imported and nothing has to be built.
"""

import ast
import inspect
import pathlib
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "waitio"
CYTHON = ROOT / "python" / "cython"
FORTRAN = ROOT / "fortran"


def escaped(text):
    """A docstring's words as reStructuredText: `code` stays, nothing else means anything."""
    parts = text.replace("``", "`").split("`")
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"``{part}``"
        else:
            part = part.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
            parts[i] = re.sub(r"_(?!\w)", r"\\_", part)
    return "".join(parts)


def paragraphs(text, indent):
    """Lines of a docstring; what is indented or an example stays as it is."""
    lines = []
    for block in re.split(r"\n\s*\n", text or ""):
        rows = block.rstrip().split("\n")
        literal = any(row.startswith((" ", ">>>")) for row in rows)
        if literal:
            lines += [indent + "::", ""] + [indent + "    " + row for row in rows]
        else:
            lines += [indent + row for row in escaped("\n".join(rows)).split("\n")]
        lines.append("")
    return lines


def cython_texts():
    """{name or class.name: docstring} of python/cython."""
    found = {}
    for path in sorted(CYTHON.glob("*.p[yx]*")):
        scope, lines = "", path.read_text().splitlines()
        for number, line in enumerate(lines):
            head = re.match(r"(?:cdef )?class (\w+)", line)
            if head:
                scope = head[1] + "."
                name = head[1]
            elif re.match(r"\S", line) and not line.startswith(("#", "@", ")")):
                scope = ""
            head = head or re.match(r"(?:    )?(?:cp)?def (?:[\w]+ )?(\w+)\(", line)
            if not head:
                continue
            if "class " not in line:
                name = (scope if line.startswith(" ") else "") + head[1]
            rest = "\n".join(lines[number : number + 40])
            body = re.match(r'[^\n]*?(?:\([^"]*?\))?[^"\n]*:\n\s*"""(.*?)"""', rest, re.S)
            if body:
                found[name] = inspect.cleandoc(body[1])
    return found


def documented(body):
    """(statement, text) where a text stands behind a statement."""
    for one, after in zip(body, body[1:]):
        value = getattr(after, "value", None)
        if isinstance(after, ast.Expr) and isinstance(getattr(value, "value", None), str):
            yield one, inspect.cleandoc(value.value)


def attributes(node):
    """Attributes of a class that have a text: in its body, or set by its __init__."""
    lines, bodies = [], [node.body]
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            bodies.append(item.body)
    for one, text in (pair for body in bodies for pair in documented(body)):
        targets = getattr(one, "targets", [getattr(one, "target", None)])
        targets = getattr(targets[0], "elts", targets)
        for target in targets:
            name = getattr(target, "attr", getattr(target, "id", None))
            if name is not None and not name.startswith("_"):
                lines += [f"   .. py:attribute:: {name}", "", *paragraphs(text, "      ")]
    return lines


class Python:
    """The package's public names, read from its sources."""

    def __init__(self):
        self.texts = cython_texts()
        self.modules = {}

    def find(self, module, name):
        if module not in self.modules:
            stem = module.partition(".")[2].replace(".", "/")
            path = PACKAGE / f"{stem}.pyi"
            path = path if path.exists() else PACKAGE / f"{stem}.py"
            self.modules[module] = ast.parse(path.read_text()).body
        for node in self.modules[module]:
            if getattr(node, "name", None) == name:
                return node
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            if getattr(targets[0], "id", None) == name:
                return node
        return None

    def text(self, node, scope=""):
        text = ast.get_docstring(node) or self.texts.get(scope + node.name, "")
        if not text:
            logger.warning("%s%s of the Python package has no docstring", scope, node.name)
        return text

    def function(self, node, indent, scope=""):
        decorators = [ast.unparse(d) for d in node.decorator_list]
        arguments = [a for a in node.args.posonlyargs + node.args.args]
        text = self.text(node, scope)
        if "property" in decorators:
            kind, signature = "attribute", node.name
        else:
            if scope and arguments and "staticmethod" not in decorators:
                (node.args.posonlyargs or node.args.args).pop(0)
            signature = f"{node.name}({ast.unparse(node.args)})"
            if node.returns is not None:
                signature += f" -> {ast.unparse(node.returns)}"
            kind = "method" if scope else "function"
            kind = "classmethod" if "classmethod" in decorators else kind
        asynchronous = isinstance(node, ast.AsyncFunctionDef)
        lines = [f"{indent}.. py:{kind}:: {signature}"]
        lines += [f"{indent}   :async:"] if asynchronous and kind != "attribute" else []
        return [*lines, "", *paragraphs(text, indent + "   ")]

    def klass(self, node):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        lines = [f".. py:class:: {node.name}", ""]
        lines += [f"   Base: ``{bases}``", ""] if bases else []
        lines += paragraphs(self.text(node), "   ")
        lines += attributes(node)
        for item in node.body:
            called = isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
            if called and not item.name.startswith("_"):
                lines += self.function(item, "   ", node.name + ".")
        return lines

    def page(self, package="waitio"):
        """(classes, functions, exceptions, constants) as lines."""
        folder = PACKAGE / package.partition(".")[2]
        stub = folder / "__init__.pyi"
        path = stub if stub.exists() else folder / "__init__.py"
        names = ast.parse(path.read_text()).body
        parts = {"Functions": [], "Classes": [], "Exceptions": [], "Constants": []}
        for node in names:
            if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
                parts["Constants"].append(f"``{node.target.id}``")
            if not isinstance(node, ast.ImportFrom) or not node.module.startswith("waitio."):
                continue
            for alias in node.names:
                found = self.find(node.module, alias.name)
                if isinstance(found, ast.ClassDef):
                    errors = node.module.endswith(("exceptions", "errors"))
                    parts["Exceptions" if errors else "Classes"] += self.klass(found)
                elif isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    parts["Functions"] += self.function(found, "")
                elif found is not None:
                    parts["Constants"].append(f"``{alias.name}``")
        constants = ", ".join(parts["Constants"])
        parts["Constants"] = [f"{constants}.", ""] if constants else []
        lines = [f".. py:module:: {package}", ""]
        for title, content in parts.items():
            lines += [title, "-" * len(title), "", *content] if content else []
        return lines

    def file(self, path):
        """Functions of a module, in the order of the file. Those that it makes for several types
        (_calls) are shown once, TYPE in their names."""
        lines = [f".. py:module:: {path.stem}", ""]
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            if node.name == "_calls":
                for made in node.body:
                    if isinstance(made, ast.FunctionDef):
                        made.name = f"{path.stem}_{made.name}_TYPE"
                        lines += self.function(made, "")
            elif not node.name.startswith("_"):
                lines += self.function(node, "")
        return lines


def fortran_lines(path):
    """Statements of a source file with the comments that document them: (statement, comment)."""
    comment, statement, found = [], "", []
    for line in path.read_text().splitlines():
        text = line.strip()
        if text.startswith("!>"):
            comment.append(text[2:].strip())
            continue
        if text.startswith("!") or not text:
            if not text:
                comment = []
            continue
        code, _, after = text.partition("!<")
        code = code.strip()
        statement += code.lstrip("&").rstrip("&").rstrip() + (" " if code.endswith("&") else "")
        if code.endswith("&"):
            continue
        found.append((statement.strip(), " ".join(comment), after.strip()))
        comment, statement = [], ""
    return found


def fortran_page(path):
    """What a module offers, as lines: types, then procedures."""
    lines, fields, body = [], [], None
    statements = fortran_lines(path)
    is_private = access(statements)
    inside = False  # a type
    for statement, comment, after in statements:
        procedure = re.match(
            r"(?:(?:recursive|pure|integer\(\w+\)|real\(\w+\)|double precision|logical) )*"
            r"(subroutine|function) +(\w+) *\(([^)]*)\)",
            statement,
        )
        kind = re.match(r"type\b(?:[^:(]*|[^:]*\(c\)[^:]*)::\s*(\w+)$", statement)
        if re.match(r"end (subroutine|function|type)", statement):
            if body and not is_private(body[1]):
                what, name, arguments, text = body
                text = re.split("@param|@return", text)[0].strip()
                signature = f"{what} {name}" + (f"({arguments})" if what != "type" else "")
                lines += [f".. describe:: {signature}", ""]
                lines += paragraphs(text, "   ") if text else []
                lines += [*fields, ""] if fields else []
            body, inside, fields = None, False, []
        elif procedure:
            body = (procedure[1], procedure[2], procedure[3].strip(), comment)
            fields = []
        elif kind:
            body, inside, fields = ("type", kind[1], "", comment), True, []
        elif body and "::" in statement and not statement.startswith(("import", "use")):
            declared, _, names = statement.partition("::")
            named = {
                n.strip().partition("(")[0].partition("=")[0].strip().lower()
                for n in names.split(",")
            }
            wanted = {n.strip().lower() for n in body[2].split(",")}
            if inside or named & wanted:
                after = after or told_of(body[3], named)
                told = f" - {escaped(after)}" if after else ""
                fields += [f"   * ``{names.strip()}``: ``{declared.strip()}``{told}"]
    return lines + fortran_generics(statements, is_private)


def told_of(comment, names):
    """What a procedure's comment says of arguments: @param NAME text."""
    told = re.findall(r"@param (\w+) (.*?)(?=@param|@return|$)", comment)
    return "; ".join(text.strip() for name, text in told if name.lower() in names)


def access(statements):
    """Return a function that tells whether a module hides a name."""
    listed = {"private": set(), "public": set()}
    bare, inside = False, False  # a type has a private of its own
    for statement, _, _ in statements:
        begins = re.match(r"type\b.*:: *(\w+)$", statement)
        if begins and ", public" in statement:
            listed["public"].add(begins[1].lower())
        inside = (inside or bool(begins)) and not statement.startswith("end type")
        bare |= statement == "private" and not inside
        found = re.match(r"(private|public) *:: *(.*)", statement)
        if found:
            listed[found[1]] |= {name.strip().lower() for name in found[2].split(",")}

    def is_private(name):
        name = name.lower()
        return name not in listed["public"] if bare else name in listed["private"]

    return is_private


def fortran_generics(statements, is_private):
    """One name for several procedures: the arguments of each of them."""
    arguments, lines, name = {}, [], None
    for statement, _, _ in statements:
        procedure = re.match(r"(?:pure )?(?:subroutine|function) +(\w+) *\(([^)]*)\)", statement)
        if procedure:
            arguments[procedure[1].lower()] = procedure[2].strip()
    for statement, comment, _ in statements:
        begins = re.match(r"interface (\w+)$", statement)
        several = re.match(r"(?:module )?procedure (?::: *)?(.*)", statement)
        if statement.startswith(("interface", "abstract interface")):
            name, told = (begins[1] if begins else None), comment
        elif several and name is not None and not is_private(name):
            given = [one.strip().lower() for one in several[1].split(",")]
            lines += [f".. describe:: generic {name}", ""]
            lines += paragraphs(told, "   ") if told else []
            lines += [f"   * ``{one}({arguments[one]})``" for one in given if one in arguments]
            lines.append("")
    return lines


class Pages(SphinxDirective):
    has_content = False
    optional_arguments = 1
    final_argument_whitespace = True

    def parsed(self, lines, sources):
        for source in sources:
            self.env.note_dependency(str(source))
        holder = nodes.section()
        holder.document = self.state.document
        content = StringList(lines, source=self.name)
        self.state.nested_parse(content, 0, holder, match_titles=True)
        return holder.children


class PythonPage(Pages):
    def run(self):
        sources = [*PACKAGE.glob("**/*.py*"), *CYTHON.glob("*.p[yx]*")]
        return self.parsed(Python().page(*self.arguments), sources)


class PythonModule(Pages):
    """Argument: a file in python/."""

    def run(self):
        path = PACKAGE.parent / self.arguments[0]
        return self.parsed(Python().file(path), [path])


class FortranPage(Pages):
    """Argument: the files of a module, from fortran/."""

    def run(self):
        lines, sources = [], []
        for name in self.arguments[0].split():
            sources.append(FORTRAN / name)
            lines += fortran_page(sources[-1])
        if not lines:
            raise self.error(f"nothing found in {self.arguments[0]}")
        return self.parsed(lines, sources)


def setup(app):
    app.add_directive("waitio-python", PythonPage)
    app.add_directive("waitio-python-module", PythonModule)
    app.add_directive("waitio-fortran", FortranPage)
    return {"parallel_read_safe": True}
