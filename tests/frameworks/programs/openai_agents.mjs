// OpenAI's agents SDK for JavaScript.
import { appendFileSync } from "node:fs";
import { Agent, run, setOpenAIAPI, tool } from "@openai/agents";

const properties = { city: { type: "string" } };
const book = tool({
  name: "book",
  description: "Book a table.",
  parameters: { type: "object", properties, required: ["city"], additionalProperties: false },
  strict: true,
  execute: async ({ city }) => {
    appendFileSync("booked.txt", `${city}\n`);
    return `booked in ${city}`;
  },
});
setOpenAIAPI("chat_completions");
const agent = new Agent({ name: "booker", instructions: "You book tables.", model: "m", tools: [book] });
console.log((await run(agent, "Book a table in Lyon.")).finalOutput);
