// Vercel's AI SDK: a loop over steps with a tool.
import { appendFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";

const book = tool({
  description: "Book a table.",
  inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
  execute: async ({ city }) => {
    appendFileSync("booked.txt", `${city}\n`);
    return `booked in ${city}`;
  },
});
const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat("m");
const { text } = await generateText({ model, prompt: "Book a table in Lyon.", tools: { book }, stopWhen: stepCountIs(4) });
console.log(text);
