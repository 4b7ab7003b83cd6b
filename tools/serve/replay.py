"""Holds conversations with services through the official clients, and prints what the caller sees.

usage: replay.py < conversations.jsonl > views.jsonl

A conversation is {"id", "protocol", "base", "model", "system", "tools", "choice", "max", "temperature", "stop", "stream",
"steps": [[part, ...], ...]}; the protocol is openai (chat completions), responses or anthropic, and a part is {"text"} or
{"image", "data"}. After a step whose answer calls tools, each call gets a result, and the model is asked again. A line of
output has a view per answer, in a form that protocols share, and the client's own object in "native"."""
import concurrent.futures
import json
import sys

import anthropic
import openai
from openai.types.chat import ChatCompletion


def error(e):
    status = getattr(e, "status_code", None)
    body = getattr(e, "body", None)
    message = body.get("error", body).get("message") if isinstance(body, dict) else None
    return {"error": type(e).__name__, "status": status, "message": message or str(e)}


def view(text, thinking, calls, finish, usage, native, kinds):
    calls = [[name, args if isinstance(args, dict) else json.loads(args)] for name, args in calls]
    return {"text": text, "thinking": thinking, "calls": calls, "finish": finish, "usage": usage, "native": native, "kinds": kinds}


def joined(chunks):
    """joined is the answer of a stream. The client's own helper fails where an answer is cut by its limit of tokens."""
    answer, message, calls = {"object": "chat.completion"}, {"role": "assistant", "content": None}, {}
    for chunk in chunks:
        answer |= {"id": chunk.id, "created": chunk.created, "model": chunk.model, "usage": chunk.usage or answer.get("usage")}
        for choice in chunk.choices:
            delta = choice.delta.model_dump(exclude_none=True)
            for name in ("content", "reasoning_content", "refusal"):
                if name in delta:
                    message[name] = (message.get(name) or "") + delta[name]
            for t in delta.get("tool_calls", []):
                call = calls.setdefault(t["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = t.get("id") or call["id"]
                for name in ("name", "arguments"):
                    call["function"][name] += t.get("function", {}).get(name) or ""
            answer["finish"] = choice.finish_reason or answer.get("finish")
    if calls:
        message["tool_calls"] = [calls[i] for i in sorted(calls)]
    message["content"] = message["content"] or None
    choice = {"index": 0, "message": message, "finish_reason": answer.pop("finish"), "logprobs": None}
    return ChatCompletion.model_validate(answer | {"choices": [choice]})


class Chat:
    def __init__(self, base):
        self.client = openai.OpenAI(base_url=base, api_key="caller", max_retries=0, timeout=30)

    def begin(self, c):
        more = {}
        if c.get("tools"):
            more["tools"] = [{"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]}} for t in c["tools"]]
        if c.get("choice"):
            more["tool_choice"] = c["choice"] if c["choice"] in ("none", "required") else {"type": "function", "function": {"name": c["choice"]}}
        for theirs, ours in {"max_completion_tokens": "max", "temperature": "temperature", "stop": "stop"}.items():
            if c.get(ours) is not None:
                more[theirs] = c[ours]
        history = [{"role": "system", "content": c["system"]}] if c.get("system") else []
        return history, more

    def say(self, history, parts):
        if len(parts) == 1 and "text" in parts[0]:
            history.append({"role": "user", "content": parts[0]["text"]})
            return
        history.append({"role": "user", "content": [
            {"type": "text", "text": p["text"]} if "text" in p else {"type": "image_url", "image_url": {"url": f"data:{p['image']};base64,{p['data']}"}} for p in parts]})

    def ask(self, c, history, more):
        ask = {"model": c["model"], "messages": history, **more}
        if c["stream"]:
            answer = joined(self.client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
        else:
            answer = self.client.chat.completions.create(**ask)
        choice, u = answer.choices[0], answer.usage
        m = choice.message
        history.append(m.model_dump(exclude_none=True, exclude={"parsed"}))
        thinking = (m.model_extra or {}).get("reasoning_content") or ""
        calls = [(t.function.name, t.function.arguments) for t in m.tool_calls or []]
        usage = [u.prompt_tokens, u.prompt_tokens_details.cached_tokens if u.prompt_tokens_details else 0, u.completion_tokens]
        finish = {"tool_calls": "calls"}.get(choice.finish_reason, choice.finish_reason)
        return view(m.content or "", thinking, calls, finish, usage, answer.model_dump(), []), [t.id for t in m.tool_calls or []]

    def results(self, history, ids, texts):
        history += [{"role": "tool", "tool_call_id": i, "content": t} for i, t in zip(ids, texts)]


class Responses:
    def __init__(self, base):
        self.client = openai.OpenAI(base_url=base, api_key="caller", max_retries=0, timeout=30)

    def begin(self, c):
        more = {"store": False}
        if c.get("tools"):
            more["tools"] = [{"type": "function", "name": t["name"], "description": t["description"], "parameters": t["schema"], "strict": False} for t in c["tools"]]
        if c.get("choice"):
            more["tool_choice"] = c["choice"] if c["choice"] in ("none", "required") else {"type": "function", "name": c["choice"]}
        for theirs, ours in {"max_output_tokens": "max", "temperature": "temperature", "instructions": "system"}.items():
            if c.get(ours) is not None:
                more[theirs] = c[ours]
        return [], more

    def say(self, history, parts):
        if len(parts) == 1 and "text" in parts[0]:
            history.append({"role": "user", "content": parts[0]["text"]})
            return
        history.append({"role": "user", "content": [
            {"type": "input_text", "text": p["text"]} if "text" in p else {"type": "input_image", "detail": "auto", "image_url": f"data:{p['image']};base64,{p['data']}"} for p in parts]})

    def ask(self, c, history, more):
        ask = {"model": c["model"], "input": history, **more}
        kinds = []
        if c["stream"]:
            with self.client.responses.stream(**ask) as stream:
                for e in stream:
                    kinds.append(e.type)
                    if e.type in ("response.completed", "response.incomplete", "response.failed"):
                        answer = e.response
        else:
            answer = self.client.responses.create(**ask)
        history += [o.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for o in answer.output]
        called = [o for o in answer.output if o.type == "function_call"]
        thinking = "".join(s.text for o in answer.output if o.type == "reasoning" for s in o.summary)
        u = answer.usage
        finish = {"completed": "stop", "incomplete": "length"}.get(answer.status, answer.status)
        if called and finish == "stop":
            finish = "calls"
        usage = [u.input_tokens, u.input_tokens_details.cached_tokens, u.output_tokens]
        return view(answer.output_text, thinking, [(o.name, o.arguments) for o in called], finish, usage, answer.model_dump(), kinds), [o.call_id for o in called]

    def results(self, history, ids, texts):
        history += [{"type": "function_call_output", "call_id": i, "output": t} for i, t in zip(ids, texts)]


class Messages:
    def __init__(self, base):
        self.client = anthropic.Anthropic(base_url=base, api_key="caller", max_retries=0, timeout=30)

    def begin(self, c):
        more = {"max_tokens": c["max"] or 4096}
        if c.get("tools"):
            more["tools"] = [{"name": t["name"], "description": t["description"], "input_schema": t["schema"]} for t in c["tools"]]
        if c.get("choice"):
            more["tool_choice"] = {"none": {"type": "none"}, "required": {"type": "any"}}.get(c["choice"], {"type": "tool", "name": c["choice"]})
        if c.get("system"):
            more["system"] = [{"type": "text", "text": c["system"]}]
        if c.get("stop"):
            more["stop_sequences"] = c["stop"]
        if c.get("temperature") is not None:
            more["extra_body"] = {"temperature": c["temperature"]}  # this client has no such argument
        return [], more

    def say(self, history, parts):
        if len(parts) == 1 and "text" in parts[0]:
            history.append({"role": "user", "content": parts[0]["text"]})
            return
        history.append({"role": "user", "content": [
            {"type": "text", "text": p["text"]} if "text" in p else {"type": "image", "source": {"type": "base64", "media_type": p["image"], "data": p["data"]}} for p in parts]})

    def ask(self, c, history, more):
        ask = {"model": c["model"], "messages": history, **more}
        kinds = []
        if c["stream"]:
            with self.client.messages.stream(**ask) as stream:
                for e in stream:
                    kinds.append(e.type)
                answer = stream.get_final_message()
        else:
            answer = self.client.messages.create(**ask)
        history.append({"role": "assistant", "content": [b.model_dump(exclude_none=True, exclude={"parsed_output"}) for b in answer.content]})
        called = [b for b in answer.content if b.type == "tool_use"]
        text = "".join(b.text for b in answer.content if b.type == "text")
        thinking = "".join(b.thinking for b in answer.content if b.type == "thinking")
        u = answer.usage
        cached = u.cache_read_input_tokens or 0
        usage = [u.input_tokens + cached + (u.cache_creation_input_tokens or 0), cached, u.output_tokens]
        finish = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "calls"}.get(answer.stop_reason, answer.stop_reason)
        return view(text, thinking, [(b.name, b.input) for b in called], finish, usage, answer.model_dump(), kinds), [b.id for b in called]

    def results(self, history, ids, texts):
        history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": t} for i, t in zip(ids, texts)]})


def hold(client, c):
    """hold is one conversation."""
    views = []
    history, more = client.begin(c)
    for parts in c["steps"]:
        client.say(history, parts)
        for _ in range(3):
            try:
                seen, ids = client.ask(c, history, more)
            except (openai.OpenAIError, anthropic.AnthropicError) as e:
                return views + [error(e)]
            views.append(seen)
            if not ids:
                break
            client.results(history, ids, [f"result {n} ö\n\"quoted\"" for n in range(len(ids))])
    return views


PROTOCOLS = {"openai": Chat, "responses": Responses, "anthropic": Messages}


def main():
    conversations = [json.loads(line) for line in sys.stdin]
    clients = {}
    for c in conversations:
        where = c["protocol"], c["base"]
        clients[where] = clients.get(where) or PROTOCOLS[c["protocol"]](c["base"])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for c, views in zip(conversations, pool.map(lambda c: hold(clients[c["protocol"], c["base"]], c), conversations)):
            print(json.dumps({"id": c["id"], "views": views}, sort_keys=True))


main()
