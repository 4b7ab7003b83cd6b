"""Calls a gateway with the official openai package. usage: openai_client.py BASE_URL

The gateway must be the one of the test TestOfficialClients: its experts do what the last message says."""
import asyncio
import sys

import openai
from pydantic import BaseModel


class Claim(BaseModel):
    label: str
    page: str


TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {"page": {"type": "string"}}}}}]


def ask(text):
    return {"model": "pipe", "messages": [{"role": "user", "content": text}]}


def raises(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise SystemExit(f"no {kind.__name__}")


def tool_of(stream):
    name, arguments = "", ""
    for chunk in stream:
        for choice in chunk.choices:
            for call in choice.delta.tool_calls or []:
                name += call.function.name or ""
                arguments += call.function.arguments or ""
    return name, arguments


def main(base):
    client = openai.OpenAI(base_url=base, api_key="caller", max_retries=0, timeout=10)
    create = client.chat.completions.create

    ids = [m.id for m in client.models.list()]
    assert {"pipe", "pipe/claims", "small", "large"} <= set(ids), ids
    assert client.models.retrieve("pipe/claims").id == "pipe/claims"
    print("ok models")

    raw = client.chat.completions.with_raw_response.create(**ask("hello"), extra_headers={"X-Request-Id": "py-1"})
    answer = raw.parse()
    assert answer.choices[0].message.content == "It is a test.", answer
    assert answer.usage.total_tokens == 1100 and answer.model == "model-s", answer
    assert raw.headers["x-pipe-expert"] == "small" and raw.headers["x-pipe-advice"] == "search" and raw.headers["x-pipe-decision"]
    print("ok completion")

    text, finish, usage = "", None, None
    for chunk in create(**ask("hello"), stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert (text, finish, usage.completion_tokens) == ("It is a test.", "stop", 100), (text, finish, usage)
    assert not any(chunk.usage for chunk in create(**ask("hello"), stream=True)), "a usage that was not asked for"
    print("ok stream")

    call = create(**ask("tool"), tools=TOOLS, tool_choice="required", parallel_tool_calls=False).choices[0].message.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("look_up", '{"page":"Oil"}'), call
    assert tool_of(create(**ask("tool"), tools=TOOLS, stream=True)) == ("look_up", '{"page":"Oil"}')
    print("ok tools")

    claim = client.chat.completions.parse(**ask("json"), response_format=Claim).choices[0].message.parsed
    assert claim == Claim(label="SUPPORTS", page="Oil"), claim
    print("ok structured output")

    e = raises(openai.NotFoundError, lambda: create(model="none", messages=[{"role": "user", "content": "x"}]))
    assert e.code == "model_not_found" and e.param == "model" and e.type == "invalid_request_error", e
    e = raises(openai.BadRequestError, lambda: create(model="pipe", messages=[]))
    assert e.param == "messages", e
    assert "too hot" in str(raises(openai.BadRequestError, lambda: create(**ask("refuse"))))
    e = raises(openai.RateLimitError, lambda: create(**ask("limit")))
    assert e.response.headers["retry-after"] == "1" and e.code == "expert_limit", e
    assert raises(openai.InternalServerError, lambda: create(**ask("fail"))).code == "expert_failed"
    assert client.with_options(max_retries=1).chat.completions.create(**ask("flaky")).choices[0].message.content
    print("ok errors")

    raises(openai.APITimeoutError, lambda: client.with_options(timeout=0.2).chat.completions.create(**ask("slow")))
    print("ok timeout")

    got = []

    def broken():
        for chunk in create(**ask("break"), stream=True):
            got.append(chunk)

    e = raises(openai.APIError, broken)
    assert got and "not complete" in e.message, (got, e)
    print("ok broken stream")

    async def many():
        aclient = openai.AsyncOpenAI(base_url=base, api_key="caller", max_retries=0)

        async def one():
            text = ""
            async for chunk in await aclient.chat.completions.create(**ask("hello"), stream=True):
                text += "".join(c.delta.content or "" for c in chunk.choices)
            return text

        texts = await asyncio.gather(*[one() for _ in range(20)])
        await aclient.close()
        return texts

    assert asyncio.run(many()) == ["It is a test."] * 20
    print("ok async")


main(sys.argv[1])
