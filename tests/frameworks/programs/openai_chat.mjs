// Chat completions with the openai package of npm.
import { appendFileSync } from "node:fs";
import OpenAI from "openai";

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "book", description: "Book a table.", parameters } }];

function book({ city }) {
  appendFileSync("booked.txt", `${city}\n`);
  return `booked in ${city}`;
}

async function ask(client, messages) {
  const given = { model: "m", messages, tools };
  if (!process.argv.includes("--stream")) {
    return (await client.chat.completions.create(given)).choices[0].message;
  }
  return client.chat.completions.stream(given).finalMessage();
}

const client = new OpenAI();
const messages = [
  { role: "system", content: "You book tables." },
  { role: "user", content: "Book a table in Lyon." },
];
for (;;) {
  const { content, tool_calls: calls } = await ask(client, messages);
  if (!calls?.length) {
    console.log(content);
    break;
  }
  const asked = calls.map(({ id, type, function: { name, arguments: given } }) => ({
    id,
    type,
    function: { name, arguments: given },
  }));
  messages.push({ role: "assistant", content, tool_calls: asked });
  for (const call of calls) {
    const result = book(JSON.parse(call.function.arguments));
    messages.push({ role: "tool", tool_call_id: call.id, content: result });
  }
}
