#!/usr/bin/env python3
"""Whether Fortran's MPI functions end up in libgpubind-aware.

    fortran_symbols.py TABLE LIBGPUBIND_AWARE LIBRARY...

TABLE is functions.tsv. For each function that is staged in it, or that libgpubind-aware exports, and each symbol by which a compiler may call it in
the Fortran LIBRARYs of an MPI: libgpubind-aware defines that symbol itself, or the code behind it calls MPI_NAME or
PMPI_NAME of C (or the form with large counts) through the procedure linkage table, so that the dynamic linker binds
it to libgpubind-aware, which is loaded first. The code is read by objdump(1): calls and jumps are followed through
the LIBRARYs, as the dynamic linker would bind them.

Prints a line for each symbol of which neither holds, and "N symbols of M functions" last. Status 1 if there was
such a line, or fewer than 50 functions were found, or a LIBRARY binds its own symbols itself (-Bsymbolic).
"""
import bisect
import collections
import re
import subprocess
import sys

# Address, instruction, target, and the name of a stub in the procedure linkage table.
BRANCH = re.compile(r"^\s*([0-9a-f]+):\s+(?:bnd |notrack )*(call|jmp|j[a-z]+|bl?|b\.\w+)q?\s+"
                    r"(?:0x)?([0-9a-f]+)(?:\s+<([^>@+]+)@plt>)?")
# call *OFFSET(%rip) # ADDRESS <NAME@...>: by the global offset table, without a stub.
INDIRECT = re.compile(r"^\s*([0-9a-f]+):\s+(?:bnd |notrack )*(?:call|jmp)q?\s+\*.*#\s*[0-9a-f]+ <([^>@+]+)[^>]*>")
# Whatever stands around the name of a function: mpi_send_, mpi_send_f08_, mpi_send_f08ts_large_, MPI_SEND ...
AROUND = r"^P?MPI[RX]?_%s(?:_(?:f08(?:ts)?|cptr|f))?(?:_large)?_{0,2}$"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def names(table, intercepted):
    """The functions that libgpubind-aware stands before, without MPI_: the table's, and all that it exports."""
    with open(table, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    listed = {row[0] for row in rows if row[3] == "staged"}
    exported = {re.sub(r"_c$", "", name) for name in intercepted if re.match(r"MPI_[A-Z][a-z]", name) and not re.search(r"_f(08)?$", name)}
    return sorted(name[len("MPI_"):] for name in listed | exported if name.startswith("MPI_"))


class Library:
    """A shared object: where its symbols are, and what the code from an address on calls: names that the dynamic
    linker binds, and addresses of functions of its own, which need no name."""

    def __init__(self, path):
        self.path = path
        self.symbols, self.sizes = {}, {}
        for line in output("nm", "-D", "-S", "--defined-only", path).splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "TWti":
                self.symbols[fields[3].split("@")[0]] = int(fields[0], 16)
                self.sizes[int(fields[0], 16)] = int(fields[1], 16)
        self.symbolic = re.search(r"\(SYMBOLIC\)|FLAGS.*SYMBOLIC", output("readelf", "-d", path)) is not None
        self.calls = collections.defaultdict(set)
        self.read()

    def read(self):
        branches, starts = [], set(self.sizes)
        for line in output("objdump", "-d", "--no-show-raw-insn", self.path).splitlines():
            match = BRANCH.match(line)
            indirect = None if match else INDIRECT.match(line)
            if indirect:
                branches.append((int(indirect.group(1), 16), indirect.group(2)))
            elif match:
                branches.append((int(match.group(1), 16), match.group(4) or int(match.group(3), 16)))
                if match.group(2) in ("call", "bl") and not match.group(4):
                    starts.add(int(match.group(3), 16))
        self.starts = sorted(starts)
        for at, target in branches:
            start = self.function(at)
            if start is not None and (isinstance(target, str) or self.function(target) != start):
                self.calls[start].add(target if isinstance(target, str) else self.function(target))

    def function(self, address):
        """The start of the function that has the address; None: there is none."""
        index = bisect.bisect_right(self.starts, address) - 1
        start = self.starts[index] if index >= 0 else None
        return None if start is None or address >= start + self.sizes.get(start, address) else start


def reached(libraries, library, address, intercepted):
    """All names that the code from there on calls and that libgpubind-aware stands before."""
    found, seen, todo = set(), set(), [(library, address)]
    while todo:
        here, start = todo.pop()
        if (here, start) in seen:
            continue
        seen.add((here, start))
        for target in here.calls[start] - {None}:
            if isinstance(target, int):
                todo.append((here, target))
            elif target in intercepted:
                found.add(target)
            else:
                todo += [(there, there.symbols[target]) for there in libraries if target in there.symbols]
    return found


def main():
    table, aware, *paths = sys.argv[1:]
    libraries = [Library(path) for path in paths]
    intercepted = {line.split()[-1] for line in output("nm", "-D", "--defined-only", aware).splitlines()}
    bad = nsymbols = nfunctions = 0
    for library in libraries:
        if library.symbolic:
            print(f"{library.path} binds its own symbols")
            bad += 1
    for name in names(table, intercepted):
        pattern = re.compile(AROUND % re.escape(name), re.IGNORECASE)
        wanted = {prefix + name + suffix for prefix in ("MPI_", "PMPI_") for suffix in ("", "_c")}
        symbols = [(library, symbol) for library in libraries for symbol in library.symbols if pattern.match(symbol)]
        nfunctions += bool(symbols)
        for library, symbol in symbols:
            nsymbols += 1
            if symbol in intercepted:
                continue
            found = reached(libraries, library, library.symbols[symbol], intercepted)
            if not found & wanted and not any(pattern.match(other) for other in found):
                print(f"{symbol} of {library.path} calls no {'MPI_' + name}")
                bad += 1
    print(f"{nsymbols} symbols of {nfunctions} functions")
    return 1 if bad or nfunctions < 50 else 0


sys.exit(main())
