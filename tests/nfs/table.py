"""Reads what the guests of tests/nfs/run told their consoles, prints the table, and fails where kiln did not keep its promise.

    python3 tests/nfs/table.py KEYS CONSOLE…
"""

import json
import sys


def lines_of(consoles):
    for console in consoles:
        with open(console, errors="replace") as text:
            for line in text:
                if "nfs: {" in line:
                    yield json.loads(line[line.index("nfs: {") + 5:])


def rows_of_kiln(told, keys):
    """One for each way, and whether all are as they should be."""
    ways = list(dict.fromkeys(line["way"] for line in told if line["what"] == "node"))
    good = len(ways) == 4
    for way in ways:
        nodes = sorted((line for line in told if line["what"] == "node" and line["way"] == way), key=lambda node: node["client"])
        stores = [line for line in told if line["what"] == "store" and line["way"] == way]
        compiles = [node.get("compiles", 0) for node in nodes]
        errors = sum(node["failures"] for node in nodes)
        begun = sum(len(line["begun"]) for line in nodes + stores)
        images = {node.get("images", "") for node in nodes}
        equal = len(images) == 1 and "" not in images
        entries = ", ".join(f"`{name}`" for store in stores for name in sorted(store["entries"])) or "?"
        fine = (len(nodes) == 2 and len(stores) == 1 and errors == 0 and begun == 0 and sum(compiles) == keys and equal
                and sorted(stores[0]["entries"]) == [".kiln-made", "kiln-store.v1"] and not stores[0]["databases"])
        good = good and fine
        counts = " + ".join(map(str, compiles))
        seconds = max(node.get("seconds", 0) for node in nodes)
        slow = sum(node.get("slow", 0) + node.get("server_failures", 0) for node in nodes)
        yield (f"| {way} | {errors} | {begun} | {sum(compiles)} = {counts} | {'equal' if equal else '**differ**'} | {entries} "
               f"| {slow} | {seconds:.0f} |{'' if fine else ' **not as expected**'}")
        for node in nodes if not fine else []:
            for said in node["said"]:
                print(f"{way}, client {node['client']}: {said}", file=sys.stderr)
    return good


def print_kiln(told, keys):
    print("| mounted | errors | generations begun | compiles | images | in the directory | store late or failed | s |")
    print("|---|---|---|---|---|---|---|---|")
    rows = rows_of_kiln(told, keys)
    while True:
        try:
            print(next(rows))
        except StopIteration as end:
            return end.value


def print_rows(told):
    nodes = [line for line in told if line["what"] == "rows"]
    kept = [line for line in told if line["what"] == "rows kept"]
    if len(nodes) != 2 or len(kept) != 1:
        print("\nSQLite: not measured")
        return
    errors = {}
    for node in nodes:
        for text, times in node["errors"].items():
            errors[text] = errors.get(text, 0) + times
    wrote = sum(node["wrote"] for node in nodes)
    print("\n| one SQLite file, v3 nolock | rows asked | said to be kept | found | lost | errors | `integrity_check` |")
    print("|---|---|---|---|---|---|---|")
    failed = ", ".join(f"{times} × {text}" for text, times in sorted(errors.items())) or "0"
    found = kept[0]["kept"]
    lost = wrote - found if found is not None else "all"
    print(f"| 2 clients × 4 writers | {sum(node['asked'] for node in nodes)} | {wrote} | {found if found is not None else 'unreadable'} "
          f"| {lost} | {failed} | {kept[0]['state']} |")


def main():
    told = list(lines_of(sys.argv[2:]))
    good = print_kiln(told, int(sys.argv[1]))
    print_rows(told)
    return 0 if good else 1


sys.exit(main())
