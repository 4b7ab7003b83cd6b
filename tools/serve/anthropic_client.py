"""Calls a gateway with the official anthropic package. usage: anthropic_client.py BASE_URL

The gateway must be the one of the test TestProtocolClients: its experts do what the last message says. The base URL has no
path."""
import asyncio
import base64
import sys

import anthropic

TOOLS = [{"name": "look_up", "description": "Looks up a page.", "input_schema": {"type": "object", "properties": {"page": {"type": "string"}}}}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def ask(text):
    return {"model": "pipe", "max_tokens": 3000, "messages": [{"role": "user", "content": text}]}


def raises(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise SystemExit(f"no {kind.__name__}")


def main(base):
    client = anthropic.Anthropic(base_url=base, api_key="caller", max_retries=0, timeout=10)
    create = client.messages.create

    raw = client.messages.with_raw_response.create(**ask("hello"), system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    answer = raw.parse()
    assert answer.content[0].text.startswith("I read ") and answer.stop_reason == "end_turn" and answer.role == "assistant", answer
    assert answer.usage.output_tokens == 20 and answer.usage.input_tokens + answer.usage.cache_read_input_tokens > 100, answer.usage
    assert raw.headers["x-pipe-expert"] and raw.headers["x-pipe-decision"], raw.headers
    print("ok message")

    with client.messages.stream(**ask("hello")) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    assert text == last.content[0].text and text.startswith("I read ") and text.endswith("0 results."), text
    assert last.usage.output_tokens == 20 and last.stop_reason == "end_turn", last
    print("ok stream")

    history = [{"role": "user", "content": "a tool please"}]
    called = create(model="pipe", max_tokens=300, messages=history, tools=TOOLS, tool_choice={"type": "auto"})
    use = [b for b in called.content if b.type == "tool_use"]
    assert called.stop_reason == "tool_use" and use[0].name == "look_up" and use[0].input["page"].startswith("Öl"), called
    history += [{"role": "assistant", "content": called.content}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": use[0].id, "content": [{"type": "text", "text": "found"}]}]}]
    with client.messages.stream(model="pipe", max_tokens=300, messages=history, tools=TOOLS) as stream:
        assert "1 results" in stream.get_final_message().content[0].text
    print("ok tools")

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    assert create(model="pipe", max_tokens=300, messages=[{"role": "user", "content": [picture, {"type": "text", "text": "what is it?"}]}]).content
    assert len(base64.b64decode(PIXEL)) > 60
    print("ok images")

    thought = create(**ask("think of it"), thinking={"type": "enabled", "budget_tokens": 1024})
    assert [b.type for b in thought.content] == ["thinking", "text"] and "Let me see" in thought.content[0].thinking, thought
    print("ok thinking")

    assert client.messages.count_tokens(model="pipe", messages=ask("hello")["messages"]).input_tokens > 0
    print("ok count")

    e = raises(anthropic.NotFoundError, lambda: create(model="none", max_tokens=1, messages=[{"role": "user", "content": "x"}]))
    assert e.body["type"] == "error" and e.body["error"]["type"] == "not_found_error", e.body
    e = raises(anthropic.BadRequestError, lambda: create(model="pipe", max_tokens=1, messages=[]))
    assert "messages" in str(e) and e.body["error"]["type"] == "invalid_request_error", e.body
    e = raises(anthropic.BadRequestError, lambda: create(**ask("reject this")))
    assert "is rejected" in e.body["error"]["message"], e.body
    e = raises(anthropic.RateLimitError, lambda: create(**ask("limit")))
    assert e.response.headers["retry-after"] == "1" and e.body["error"]["type"] == "rate_limit_error", e.body
    e = raises(anthropic.InternalServerError, lambda: create(**ask("fail")))
    assert e.body["error"]["type"] in ("api_error", "overloaded_error"), e.body
    assert client.with_options(max_retries=1).messages.create(**ask("flaky")).content[0].text
    print("ok errors")

    raises(anthropic.APITimeoutError, lambda: client.with_options(timeout=0.2).messages.create(**ask("slow")))
    print("ok timeout")

    got = []

    def broken():
        with client.messages.stream(**ask("break")) as stream:
            got.extend(stream.text_stream)

    e = raises(anthropic.APIError, broken)
    assert got, e
    print("ok broken stream")

    with client.messages.stream(**ask("drip")) as stream:
        for _ in stream.text_stream:
            break
    print("ok cancel")

    async def many():
        aclient = anthropic.AsyncAnthropic(base_url=base, api_key="caller", max_retries=0)

        async def one():
            async with aclient.messages.stream(**ask("hello")) as stream:
                return "".join([t async for t in stream.text_stream])

        texts = await asyncio.gather(*[one() for _ in range(20)])
        await aclient.close()
        return texts

    assert len(set(asyncio.run(many()))) == 1
    print("ok async")


main(sys.argv[1])
