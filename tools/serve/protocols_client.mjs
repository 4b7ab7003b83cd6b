// Calls a gateway with the official packages @anthropic-ai/sdk and openai (responses). usage: node protocols_client.mjs ADDRESS
// The gateway must be the one of the test TestProtocolClients: its experts do what the last message says.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

// The packages are found through NODE_PATH, which modules in this form do not look at.
const require = createRequire(import.meta.url);
const OpenAI = require("openai");
const Anthropic = require("@anthropic-ai/sdk");

const address = process.argv[2];
const openai = new OpenAI({ baseURL: address + "/v1", apiKey: "caller", maxRetries: 0, timeout: 10_000 });
const anthropic = new Anthropic({ baseURL: address, apiKey: "caller", maxRetries: 0, timeout: 10_000 });
const schema = { type: "object", properties: { page: { type: "string" } } };
const say = (content, more) => ({ model: "pipe", max_tokens: 300, messages: [{ role: "user", content }], ...more });
const ask = (input, more) => ({ model: "pipe", input, store: false, ...more });

const message = await anthropic.messages.create(say("hello"));
assert.match(message.content[0].text, /^I read /);
assert.equal(message.usage.output_tokens, 20);
const streamed = await anthropic.messages.stream(say("hello")).finalMessage();
assert.equal(streamed.content[0].text, message.content[0].text);
console.log("ok messages");

const tools = [{ name: "look_up", description: "Looks up a page.", input_schema: schema }];
const called = await anthropic.messages.stream(say("a tool please", { tools })).finalMessage();
const use = called.content.find((b) => b.type === "tool_use");
assert.equal(use.name, "look_up");
assert.match(use.input.page, /^Öl 0 /);
const history = [...say("a tool please").messages, { role: "assistant", content: called.content }, { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "found" }] }];
assert.match((await anthropic.messages.create({ model: "pipe", max_tokens: 300, messages: history, tools })).content[0].text, /1 results/);
console.log("ok tools of messages");

await assert.rejects(anthropic.messages.create(say("x", { model: "none" })), (e) => e instanceof Anthropic.NotFoundError && e.error.error.type === "not_found_error");
await assert.rejects(anthropic.messages.create(say("reject this")), (e) => e instanceof Anthropic.BadRequestError && /is rejected/.test(e.message));
await assert.rejects(anthropic.messages.create(say("limit")), (e) => e instanceof Anthropic.RateLimitError && e.headers.get("retry-after") === "1");
await assert.rejects(anthropic.messages.create(say("fail")), Anthropic.InternalServerError);
await assert.rejects(anthropic.messages.create(say("slow"), { timeout: 200 }), Anthropic.APIConnectionTimeoutError);
await assert.rejects(anthropic.messages.stream(say("break")).finalMessage(), Anthropic.AnthropicError);
console.log("ok errors of messages");

const response = await openai.responses.create(ask("hello"));
assert.match(response.output_text, /^I read /);
const final = await openai.responses.stream(ask("hello")).finalResponse();
assert.equal(final.output_text, response.output_text);
console.log("ok responses");

const functions = [{ type: "function", name: "look_up", description: "Looks up a page.", parameters: schema, strict: false }];
const asked = await openai.responses.stream(ask("a tool please", { tools: functions })).finalResponse();
const call = asked.output.find((o) => o.type === "function_call");
assert.match(JSON.parse(call.arguments).page, /^Öl 0 /);
const input = [{ role: "user", content: "a tool please" }, call, { type: "function_call_output", call_id: call.call_id, output: "found" }];
assert.match((await openai.responses.create(ask(input, { tools: functions }))).output_text, /1 results/);
console.log("ok tools of responses");

await assert.rejects(openai.responses.create(ask("x", { model: "none" })), (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
await assert.rejects(openai.responses.create(ask("reject this")), (e) => e instanceof OpenAI.BadRequestError && /is rejected/.test(e.message));
await assert.rejects(openai.responses.create(ask("limit")), OpenAI.RateLimitError);
await assert.rejects(openai.responses.create(ask("slow"), { timeout: 200 }), OpenAI.APIConnectionTimeoutError);
console.log("ok errors of responses");
