"""A client of the stream in Python: what it is told to do comes as JSON on standard input, what it read goes out as JSON."""

import json
import sys
import threading
import urllib.error
import urllib.request
import uuid

import cbor2
import socketio


def call(job, url, body=None):
    request = urllib.request.Request(url, data=body, headers={"Authorization": "Bearer " + job["token"]})
    if body is not None:
        request.add_header("Content-Type", "application/cbor")
    try:
        with urllib.request.urlopen(request) as answer:
            return {"status": answer.status, "body": cbor2.loads(answer.read())}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "body": cbor2.loads(error.read())}


def read_rest(job):
    """Pages from the oldest message to the tail, three messages at a time."""
    messages, query = [], "limit=3"
    while True:
        answer = call(job, job["address"] + "/latest?" + query)
        if answer["status"] != 200:
            return answer
        messages += answer["body"]["messages"]
        if answer["body"]["upToDate"]:
            return {"status": 200, "messages": messages}
        query = "limit=3&offset=%d" % answer["body"]["nextOffset"]


def read_socket(job):
    """Reads over socket.io from an offset until as many messages came as are expected."""
    client = socketio.Client()
    messages, done, answers = [], threading.Event(), []

    def on_data(frame):
        assert isinstance(frame, bytes), type(frame)
        messages.extend(cbor2.loads(frame)["messages"])
        if len(messages) >= job["count"]:
            done.set()

    client.on("stream:latest:data", on_data)
    client.on("stream:latest:rpc", answers.append)
    client.connect(
        job["url"],
        transports=["websocket"],
        socketio_path="socket.io-client",
        auth={"token": job["token"], "workgroupId": job["workgroup"]},
    )
    request_id = str(uuid.uuid4())
    client.emit("stream:latest", {"requestId": request_id, "offset": job["offset"], "table": job["table"]})
    came = done.wait(10)
    client.emit("stream:latest:stop", {"requestId": request_id})
    client.disconnect()
    return {"came": came, "answers": answers, "messages": messages}


def send(job):
    """Sends what Python has: integers of any width, floats, text, booleans and nothing."""
    items = [
        {
            "device": job["device"],
            "source": "python",
            "event_time": 1800000000000 + number,
            "msg_id": number,
            "data": {
                "whole": number,
                "part": 0.1,
                "largest": 2**64 - 1,
                "least": -(2**63),
                "text": "Grüße, 世界 \U0001f31e",
                "yes": True,
                "nothing": None,
            },
        }
        for number in range(5)
    ]
    return call(job, job["address"] + "/messages", cbor2.dumps(items))


def types_of(value):
    if isinstance(value, dict):
        return {key: types_of(member) for key, member in value.items()}
    return type(value).__name__


job = json.load(sys.stdin)
result = {"read_rest": read_rest, "read_socket": read_socket, "send": send}[job["do"]](job)
result["types"] = [types_of(message) for message in result.get("messages", [])]
json.dump(result, sys.stdout)
