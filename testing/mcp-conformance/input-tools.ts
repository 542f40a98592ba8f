import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { text } from './fixture-tools.ts'

interface State {
  round: number
}

/** Any key, because a fixture has no secrets. */
export const STATE_CODEC = createRequestStateCodec<State>({ key: Buffer.alloc(32, 1) })

const QUESTIONS = {
  user_name: () => ask('What is your name?', 'name'),
  confirm: () => ask('Please confirm', 'ok', 'boolean'),
  step1: () => ask('Step 1: What is your name?', 'name'),
  step2: () => ask('Step 2: What is your favorite color?', 'color'),
  user_context: () => ask('What context should the prompt use?', 'context'),
  capital_question: () => complete('What is the capital of France?', 100),
  greeting: () => complete('Generate a greeting', 50),
  client_roots: () => inputRequired.listRoots(),
}
type Question = keyof typeof QUESTIONS

/** Tools and a prompt that need the client's input before they answer (2026-07-28). */
export function registerInputTools(server: McpServer): void {
  registerQuestionTool(server, 'elicitation', ['user_name'], false)
  registerQuestionTool(server, 'sampling', ['capital_question'], false)
  registerQuestionTool(server, 'list_roots', ['client_roots'], false)
  registerQuestionTool(server, 'request_state', ['confirm'], true)
  registerQuestionTool(server, 'tampered_state', ['confirm'], true)
  registerQuestionTool(server, 'multiple_inputs', ['user_name', 'greeting', 'client_roots'], true)
  registerCapabilityTools(server)
  registerRounds(server)
  const name = 'test_input_required_result_prompt'
  server.registerPrompt(name, { description: 'Asks first.' }, async ctx => {
    if (!isAnswered(ctx, 'user_context')) return inputRequired(questions('user_context'))
    return { messages: [{ role: 'user', content: text(`With ${answer(ctx, 'user_context')}.`) }] }
  })
}

/** A tool that asks several questions at once and returns when all have answers. */
function registerQuestionTool(
  server: McpServer,
  name: string,
  asked: Question[],
  hasState: boolean,
): void {
  const tool = `test_input_required_result_${name}`
  server.registerTool(tool, { description: 'Asks first.' }, async (ctx: ServerContext) => {
    const isWhole = asked.every(question => isAnswered(ctx, question))
    const isKnown = !hasState || ctx.mcpReq.requestState<State>()?.round === 1
    if (isWhole && isKnown) {
      const answers = asked.map(question => answer(ctx, question)).join(', ')
      return { content: [text(`Hello, ${answers}! state-ok`)] }
    }
    const requestState = hasState ? await STATE_CODEC.mint({ round: 1 }) : undefined
    return inputRequired({ ...questions(...asked), ...(requestState && { requestState }) })
  })
}

/** Asks a client only for capabilities that it declared. */
function registerCapabilityTools(server: McpServer): void {
  const name = 'test_input_required_result_capabilities'
  server.registerTool(name, { description: 'Asks what it may.' }, async (ctx: ServerContext) => {
    const envelope = ctx.mcpReq.envelope as Record<string, ClientCapabilities> | undefined
    const can = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
    const asked: Question[] = [
      ...(can.sampling ? (['capital_question'] as const) : []),
      ...(can.elicitation ? (['user_name'] as const) : []),
    ]
    return asked.length > 0 ? inputRequired(questions(...asked)) : { content: [text('Nothing.')] }
  })
  const needing = 'test_missing_capability'
  server.registerTool(needing, { description: 'Needs sampling.' }, async () =>
    inputRequired(questions('capital_question')),
  )
}

function registerRounds(server: McpServer): void {
  const name = 'test_input_required_result_multi_round'
  server.registerTool(name, { description: 'Asks twice.' }, async (ctx: ServerContext) => {
    const round = ctx.mcpReq.requestState<State>()?.round ?? 0
    if (round === 2 && isAnswered(ctx, 'step2')) return { content: [text('Both answered.')] }
    const next = round === 1 && isAnswered(ctx, 'step1') ? 2 : 1
    const requestState = await STATE_CODEC.mint({ round: next })
    return inputRequired({ ...questions(next === 1 ? 'step1' : 'step2'), requestState })
  })
}

function questions(...asked: Question[]) {
  return { inputRequests: Object.fromEntries(asked.map(name => [name, QUESTIONS[name]()])) }
}

function isAnswered({ mcpReq }: ServerContext, question: Question): boolean {
  const given = inputResponse(mcpReq.inputResponses, question)
  if (given.kind !== 'elicit') return given.kind !== 'missing'
  return given.action === 'accept' && Object.keys(given.content ?? {}).length > 0
}

function answer({ mcpReq }: ServerContext, question: Question): string {
  const accepted = acceptedContent(mcpReq.inputResponses, question)
  return JSON.stringify(accepted ?? inputResponse(mcpReq.inputResponses, question))
}

function ask(message: string, member: string, type: 'string' | 'boolean' = 'string') {
  const requestedSchema = fromJsonSchema({
    type: 'object',
    properties: { [member]: { type } },
    required: [member],
  })
  return inputRequired.elicit({ message, requestedSchema })
}

function complete(words: string, maxTokens: number) {
  return inputRequired.createMessage({
    messages: [{ role: 'user', content: text(words) }],
    maxTokens,
  })
}
