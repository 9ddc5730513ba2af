"""traced.py FILE SETTING: whether the traces FILE.0 to FILE.2 of tests/aware/traced have what it does. Prints
what they have too much or too little. SETTING: direct; or host: no message and no collective goes
directly. A direct message of which the receiver is late is buffered, on a busy machine."""
import json
import sys

DIRECT = {"direct": ("direct", "buffered"), "host": ("staged",)}
PACKED = {"direct": ("packed", "buffered"), "host": ("staged",)}
STAGED = {"direct": ("staged",), "host": ("staged",)}
PLAIN = {"direct": ("plain",), "host": ("plain",)}
LARGE = 65536

# From, to, tag, bytes, paths of the sender and of the receiver, times.
MESSAGES = [
    (0, 1, 6, 100, PLAIN, PLAIN, 1), (1, 2, 6, 101, PLAIN, PLAIN, 1), (2, 0, 6, 102, PLAIN, PLAIN, 1),
    (0, 1, 1, LARGE, DIRECT, DIRECT, 1),
    (0, 1, 2, LARGE // 2, PACKED, PACKED, 1),
    (0, 1, 3, 4, STAGED, STAGED, 1),
    (0, 1, 4, LARGE, PLAIN, PLAIN, 1),
    (2, 0, 11, LARGE, DIRECT, DIRECT, 1),
    (2, 0, 12, 12, PLAIN, PLAIN, 1),
    (2, 0, 13, 13, PLAIN, PLAIN, 1),
    (0, 1, 21, LARGE, DIRECT, {"direct": ("direct", "buffered"), "host": ("plain",)}, 3),
]
COLLECTIVES = [("MPI_Bcast", LARGE, {"direct": ("direct",), "host": ("staged",)}),
               ("MPI_Allreduce", 8, STAGED), ("MPI_Allreduce", 8, PLAIN),
               ("MPI_Iallgather", 10, PLAIN), ("MPI_Alltoall", 24, PLAIN),
               ("MPI_Reduce_scatter_block", 60, PLAIN), ("MPI_Scatter", (10, 30, 10), PLAIN),
               ("MPI_Scatterv", (1, 2, 6), PLAIN)]
ONE_SIDED = [("put", 1, 100), ("get", 2, 1000), ("accumulate", 1, 4)]
EACH, THREADS = 200, 4


def wanted(rank, setting):
    events = []
    for source, dest, tag, nbytes, sent, got, times in MESSAGES:
        if rank == source:
            events += [("send", dest, tag, nbytes, sent[setting])] * times
        if rank == dest:
            events += [("receive", source, tag, nbytes, got[setting])] * times
    if rank < 2:
        kind = ("send", "receive")[rank]
        events += [(kind, 1 - rank, 100 + thread, i, ("plain",))
                   for thread in range(THREADS) for i in range(EACH)]
    events += [(name, None, None, nbytes[rank] if isinstance(nbytes, tuple) else nbytes, paths[setting])
               for name, nbytes, paths in COLLECTIVES]
    if rank == 0:
        events += [(kind, peer, None, nbytes, DIRECT[setting]) for kind, peer, nbytes in ONE_SIDED]
    return events


def found(document):
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            args = event["args"]
            kind = event["name"].split(",")[0]
            assert event["name"].endswith(args["path"]) and event["dur"] >= 0 and event["ts"] >= 0
            yield kind, args.get("peer"), args.get("tag"), args["bytes"], args["path"]


def compare(rank, events, all_wanted):
    for event in events:
        fitting = next((one for one in all_wanted if one[:4] == event[:4] and event[4] in one[4]), None)
        if fitting:
            all_wanted.remove(fitting)
        else:
            print("rank", rank, "has", *event)
    for one in all_wanted:
        print("rank", rank, "lacks", *one)


def check_rows(rank, document):
    """Events of a row do not overlap."""
    ends = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            if event["ts"] < ends.get(event["tid"], 0) - 0.0005:
                print("rank", rank, "has events that overlap in row", event["tid"])
            ends[event["tid"]] = event["ts"] + event["dur"]


def check_sums(rank, document, events):
    about = document["gpubind"]
    sums = about["pairs"] + about["collectives"]
    if sum(one["calls"] for one in sums) != len(events) or about["events"] != len(events):
        print("rank", rank, "has other sums than events")
    if sum(one["bytes"] for one in sums) != sum(event[3] for event in events):
        print("rank", rank, "has other sums of bytes")
    if about["rank"] != rank or about["ranks"] != 3 or about["dropped"]:
        print("rank", rank, "is described wrong:", about)


for number in range(3):
    with open(f"{sys.argv[1]}.{number}", encoding="utf-8") as file:
        trace = json.load(file)
    all_events = list(found(trace))
    compare(number, all_events, wanted(number, sys.argv[2]))
    check_rows(number, trace)
    check_sums(number, trace, all_events)
