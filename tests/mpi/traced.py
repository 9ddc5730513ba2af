"""traced.py FILE RANKS PATH...: whether the parts FILE.libgpubind.0 and so on agree: what each rank has sent to
another one that one has received, in as many messages, and GPU memory went between ranks by these paths alone
(besides plain: host memory). Prints what is wrong, and, if nothing is, the kinds of events that there are."""
import collections
import json
import sys

name, ranks, *paths = sys.argv[1:]
sums, kinds, wrong = collections.Counter(), set(), []
for rank in range(int(ranks)):
    with open(f"{name}.libgpubind.{rank}", encoding="utf-8") as file:
        document = json.load(file)
    about, counted = document["gpubind"], collections.Counter()
    if (about["library"], about["rank"], about["ranks"]) != ("libgpubind", rank, int(ranks)):
        wrong.append(f"rank {rank} says {about}")
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            counted[event["cat"], event["args"]["peer"], event["args"]["path"]] += 1
    for pair in about["pairs"]:
        kind, peer, path = pair["kind"], pair["peer"], pair["path"]
        kinds.add(kind)
        if about["dropped"] == 0 and counted[kind, peer, path] != pair["calls"]:
            wrong.append(f"rank {rank}: {pair}, and {counted[kind, peer, path]} events")
        if path not in ("plain", *paths) and peer != rank and pair["bytes"] > 0:
            wrong.append(f"rank {rank}: {pair}")
        if kind in ("send", "receive"):
            between = (rank, peer) if kind == "send" else (peer, rank)
            sign = 1 if kind == "send" else -1
            sums[between + ("messages",)] += sign * pair["calls"]
            sums[between + ("bytes",)] += sign * pair["bytes"]
wrong += [f"{source} to {dest}: {more} {what} more were sent than received"
          for (source, dest, what), more in sums.items() if more]
print("\n".join(wrong) if wrong else " ".join(sorted(kinds)))
