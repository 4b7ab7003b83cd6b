"""Calls a gateway's responses with the official openai package. usage: responses_client.py BASE_URL [stored]

The gateway must be the one of the test TestProtocolClients: its experts do what the last message says. With stored, its
expert keeps responses."""
import sys

import openai
from pydantic import BaseModel

TOOLS = [{"type": "function", "name": "look_up", "description": "Looks up a page.", "strict": False,
          "parameters": {"type": "object", "properties": {"page": {"type": "string"}}}}]
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Claim(BaseModel):
    label: str
    page: str


def ask(text):
    return {"model": "pipe", "input": text, "store": False}


def raises(kind, call):
    try:
        call()
    except kind as e:
        return e
    raise SystemExit(f"no {kind.__name__}")


def main(base, stored=""):
    client = openai.OpenAI(base_url=base, api_key="caller", max_retries=0, timeout=10)
    create = client.responses.create

    raw = client.responses.with_raw_response.create(**ask("hello"), instructions="Be brief.", max_output_tokens=100)
    answer = raw.parse()
    assert answer.output_text.startswith("I read ") and answer.status == "completed" and answer.usage.output_tokens == 20, answer
    assert raw.headers["x-pipe-expert"] and raw.headers["x-pipe-decision"], raw.headers
    print("ok response")

    kinds, text = [], ""
    with client.responses.stream(**ask("hello")) as stream:
        for e in stream:
            kinds.append(e.type)
            if e.type == "response.output_text.delta":
                text += e.delta
        last = stream.get_final_response()
    assert text == last.output_text and text.startswith("I read "), text
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed" and "response.output_item.done" in kinds, kinds
    print("ok stream")

    history = [{"role": "user", "content": "a tool please"}]
    called = create(model="pipe", input=history, tools=TOOLS, store=False)
    call = [o for o in called.output if o.type == "function_call"][0]
    assert call.name == "look_up" and "Öl" in call.arguments, called
    history += [o.model_dump(exclude_none=True) for o in called.output] + [{"type": "function_call_output", "call_id": call.call_id, "output": "found"}]
    with client.responses.stream(model="pipe", input=history, tools=TOOLS, store=False) as stream:
        assert "1 results" in stream.get_final_response().output_text
    print("ok tools")

    picture = [{"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": PIXEL}, {"type": "input_text", "text": "what is it?"}]}]
    assert create(model="pipe", input=picture, store=False).output_text
    print("ok images")

    thought = create(**ask("think of it"), reasoning={"effort": "low", "summary": "auto"}, include=["reasoning.encrypted_content"])
    assert [o.type for o in thought.output] == ["reasoning", "message"], thought
    print("ok reasoning")

    claim = client.responses.parse(**ask("json"), text_format=Claim).output_parsed
    assert claim == Claim(label="SUPPORTS", page="Öl"), claim
    print("ok structured output")

    if stored:
        first = create(model="pipe", input="hello", store=True)
        second = create(model="pipe", input="a tool please", previous_response_id=first.id, tools=TOOLS, store=True)
        assert second.usage.input_tokens == first.usage.input_tokens + 2, (first, second)
        call = [o for o in second.output if o.type == "function_call"][0]
        found = [{"type": "function_call_output", "call_id": call.call_id, "output": "found"}]
        with client.responses.stream(model="pipe", input=found, previous_response_id=second.id, tools=TOOLS, store=True) as stream:
            third = stream.get_final_response()
        assert "1 results" in third.output_text and third.previous_response_id in (second.id, None), third
        fourth = create(model="pipe", input="and then?", previous_response_id=third.id, store=False)
        assert fourth.usage.input_tokens > third.usage.input_tokens > second.usage.input_tokens, (second, third, fourth)
    assert "nowhere" in str(raises(openai.BadRequestError, lambda: create(**ask("hello"), previous_response_id="resp_nowhere")))
    print("ok previous response")

    e = raises(openai.NotFoundError, lambda: create(model="none", input="x"))
    assert e.code == "model_not_found" and e.param == "model", e
    assert "input" in str(raises(openai.BadRequestError, lambda: create(model="pipe", input=[])))
    assert "is rejected" in str(raises(openai.BadRequestError, lambda: create(**ask("reject this"))))
    e = raises(openai.RateLimitError, lambda: create(**ask("limit")))
    assert e.response.headers["retry-after"] == "1", e
    raises(openai.InternalServerError, lambda: create(**ask("fail")))
    assert client.with_options(max_retries=1).responses.create(**ask("flaky")).output_text
    print("ok errors")

    raises(openai.APITimeoutError, lambda: client.with_options(timeout=0.2).responses.create(**ask("slow")))
    print("ok timeout")

    got = []

    def broken():
        for e in create(**ask("break"), stream=True):
            got.append(e.type)
            if e.type == "response.failed" or e.type == "error":
                raise openai.OpenAIError(e)

    e = raises(openai.OpenAIError, broken)
    assert "response.output_text.delta" in got, (got, e)
    print("ok broken stream")

    with create(**ask("drip"), stream=True) as stream:
        for e in stream:
            if e.type == "response.output_text.delta":
                break
    print("ok cancel")


main(*sys.argv[1:])
