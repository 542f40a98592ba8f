"""The client of fastmcp."""

import asyncio
import json
import os

from fastmcp import Client


async def main():
    token = os.environ["SIGNALBOX_EXECUTION_TOKEN"]
    async with Client(os.environ["SIGNALBOX_MCP_URL"], auth=token) as client:
        tools = [tool.name for tool in await client.list_tools()]
        await client.call_tool("get_account_state", {})
        result = await client.call_tool("list_actions", {"status": "any"})
    print(json.dumps({"tools": tools, "answer": json.dumps(result.structured_content)}))


asyncio.run(main())
