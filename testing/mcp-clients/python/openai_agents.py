"""OpenAI's Agents SDK for Python, with strict schemas and a model that is played here."""

import asyncio
import json
import os

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

set_tracing_disabled(True)
CALLS = [
    ("get_account_state", '{"entity_type":"any","parent_id":"any","name_contains":"","page":1}'),
    ("list_actions", '{"status":"any","type":"any","entity_id":"any","page":1,"per_page":25}'),
]


class PlayedModel(Model):
    def __init__(self):
        self.tools, self.answer, self.calls = [], "", list(CALLS)

    async def get_response(self, system_instructions, input, model_settings, tools, *rest, **more):
        self.tools = self.tools or [tool.name for tool in tools]
        results = [one for one in input if isinstance(one, dict) and "output" in one]
        if results:
            self.answer = json.dumps(results[-1]["output"])
        if self.calls:
            name, arguments = self.calls.pop(0)
            output = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{name}", name=name, arguments=arguments
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *rest, **more):
        raise NotImplementedError


async def main():
    headers = {"Authorization": f"Bearer {os.environ['SIGNALBOX_EXECUTION_TOKEN']}"}
    params = {"url": os.environ["SIGNALBOX_MCP_URL"], "headers": headers}
    model = PlayedModel()
    async with MCPServerStreamableHttp(params=params, name="signalbox") as server:
        agent = Agent(
            name="Media buyer",
            model=model,
            mcp_servers=[server],
            mcp_config={"convert_schemas_to_strict": True},
        )
        await Runner.run(agent, "Which actions are there?")
    print(json.dumps({"tools": model.tools, "answer": model.answer}))


asyncio.run(main())
