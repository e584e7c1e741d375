// The loop of npm's openai, which calls the tools itself.
import { appendFileSync } from "node:fs";
import OpenAI from "openai";

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

async function book({ city }) {
  appendFileSync("booked.txt", `${city}\n`);
  return `booked in ${city}`;
}

const tool = { name: "book", description: "Book a table.", parameters, parse: JSON.parse, function: book };
const messages = [{ role: "user", content: "Book a table in Lyon." }];
const runner = new OpenAI().chat.completions.runTools({ model: "m", messages, tools: [{ type: "function", function: tool }] });
console.log(await runner.finalContent());
