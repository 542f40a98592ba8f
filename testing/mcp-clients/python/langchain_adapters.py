"""LangChain's MCP adapters for Python: the tools as LangChain has them, called without a model."""

import asyncio
import json
import os

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    headers = {"Authorization": f"Bearer {os.environ['SIGNALBOX_EXECUTION_TOKEN']}"}
    server = {"transport": "streamable_http", "url": os.environ["SIGNALBOX_MCP_URL"], "headers": headers}
    tools = await MultiServerMCPClient({"signalbox": server}).get_tools()
    named = {tool.name: tool for tool in tools}
    await named["get_account_state"].ainvoke({})
    answer = await named["list_actions"].ainvoke({"status": "any"})
    print(json.dumps({"tools": list(named), "answer": json.dumps(answer, default=str)}))


asyncio.run(main())
