"""A LangGraph graph of a model and a tool node."""

from __future__ import annotations

import booking
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

book = tool(booking.book)
model = ChatOpenAI(model="m").bind_tools([book])


def ask(state: MessagesState) -> dict[str, object]:
    return {"messages": [model.invoke([SystemMessage(booking.SYSTEM), *state["messages"]])]}


def main() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([book]))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    done = graph.compile().invoke({"messages": [HumanMessage(booking.QUESTION)]})
    print(done["messages"][-1].content)


if __name__ == "__main__":
    main()
