// LangChain.js: a model with tools, and the tool invoked with the model's call.
import { appendFileSync } from "node:fs";
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const book = tool(
  ({ city }) => {
    appendFileSync("booked.txt", `${city}\n`);
    return `booked in ${city}`;
  },
  { name: "book", description: "Book a table.", schema },
);
const model = new ChatOpenAI({ model: "m", configuration: { baseURL: process.env.OPENAI_BASE_URL } }).bindTools([book]);
const messages = [new HumanMessage("Book a table in Lyon.")];
for (;;) {
  const answer = await model.invoke(messages);
  messages.push(answer);
  if (!answer.tool_calls?.length) {
    console.log(answer.content);
    break;
  }
  for (const call of answer.tool_calls) messages.push(await book.invoke(call));
}
