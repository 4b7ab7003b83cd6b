// Calls a gateway with the official openai package. usage: node openai_client.mjs BASE_URL
// The gateway must be the one of the test TestOfficialClients: its experts do what the last message says.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

// The package is found through NODE_PATH, which modules in this form do not look at.
const OpenAI = createRequire(import.meta.url)("openai");

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "caller", maxRetries: 0, timeout: 10_000 });
const ask = (content, more) => ({ model: "pipe", messages: [{ role: "user", content }], ...more });
const create = (...all) => client.chat.completions.create(...all);
const tools = [{ type: "function", function: { name: "look_up", parameters: { type: "object", properties: { page: { type: "string" } } } } }];

const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
assert(ids.includes("pipe") && ids.includes("pipe/claims") && ids.includes("large"), ids.join());
console.log("ok models");

const { data, response } = await create(ask("hello")).withResponse();
assert.equal(data.choices[0].message.content, "It is a test.");
assert.equal(data.usage.total_tokens, 1100);
assert.equal(response.headers.get("x-pipe-expert"), "small");
console.log("ok completion");

let text = "", usage;
for await (const chunk of await create(ask("hello", { stream: true, stream_options: { include_usage: true } }))) {
  usage = chunk.usage ?? usage;
  text += chunk.choices[0]?.delta?.content ?? "";
}
assert.equal(text, "It is a test.");
assert.equal(usage.completion_tokens, 100);
console.log("ok stream");

const called = (await create(ask("tool", { tools, tool_choice: "required" }))).choices[0].message.tool_calls[0].function;
assert.deepEqual([called.name, called.arguments], ["look_up", '{"page":"Oil"}']);
const streamed = await client.chat.completions.stream(ask("tool", { tools })).finalChatCompletion();
assert.equal(streamed.choices[0].message.tool_calls[0].function.arguments, '{"page":"Oil"}');
console.log("ok tools");

await assert.rejects(create(ask("x", { model: "none" })), (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
await assert.rejects(create(ask("refuse")), (e) => e instanceof OpenAI.BadRequestError && /too hot/.test(e.message));
await assert.rejects(create(ask("limit")), (e) => e instanceof OpenAI.RateLimitError && e.headers.get("retry-after") === "1");
await assert.rejects(create(ask("fail")), (e) => e instanceof OpenAI.InternalServerError && e.code === "expert_failed");
console.log("ok errors");

await assert.rejects(create(ask("slow"), { timeout: 200 }), OpenAI.APIConnectionTimeoutError);
console.log("ok timeout");

let got = 0;
await assert.rejects(async () => {
  for await (const chunk of await create(ask("break", { stream: true }))) got += chunk.choices.length;
}, (e) => e instanceof OpenAI.APIError && /not complete/.test(e.message));
assert(got > 0);
console.log("ok broken stream");
