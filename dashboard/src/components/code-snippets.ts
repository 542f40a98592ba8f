/** How the same request looks in one language. */
export interface CodeSnippet {
  language: string
  code: string
}

interface SnippetOptions {
  /** The address of this installation. */
  origin: string
  /** The event as JSON text. */
  body: string
}

/** Creates the event. The programs read the secret of the tracker from SIGNALBOX_TOKEN. */
export function createEventSnippets({ origin, body }: SnippetOptions): CodeSnippet[] {
  const curl = postCommand(`${origin}/api/v1/events`, { variable: 'SIGNALBOX_TOKEN', body })
  const event = parseObject(body)
  if (event === null) return [{ language: 'curl', code: curl }]
  return [
    { language: 'curl', code: curl },
    {
      language: 'TypeScript',
      code: `import { Signalbox } from '@signalbox/sdk'

// Reads SIGNALBOX_TOKEN.
const signalbox = new Signalbox({ baseUrl: '${origin}' })
const { event_id, duplicate } = await signalbox.events.create(${toTypeScript(event)})
console.log(event_id, duplicate)`,
    },
    {
      language: 'Python',
      code: `from signalbox import Signalbox

# Reads SIGNALBOX_TOKEN.
with Signalbox(base_url="${origin}") as signalbox:
    created = signalbox.events.create(${toPython(event, '    ')})
    print(created["event_id"], created["duplicate"])`,
    },
    {
      language: 'Go',
      code: goProgram({
        origin,
        event,
        type: 'EventSubmission',
        comment: 'Reads SIGNALBOX_TOKEN.',
        lines: [
          'created, err := client.Events.Create(ctx, event)',
          ...GO_CHECK,
          'fmt.Println(created.EventID, created.Duplicate)',
        ],
      }),
    },
    {
      language: 'CLI',
      code: `# Reads SIGNALBOX_TOKEN.
signalbox events create --base-url ${origin} \\
  --data ${quoteForShell(body)}`,
    },
  ]
}

/** Validates the event in the sandbox, which needs no account. */
export function validateSnippets({ origin, body }: SnippetOptions): CodeSnippet[] {
  const validate = { variable: 'SANDBOX_KEY', body }
  const curl = [
    `curl -X POST ${origin}/api/v1/sandbox/keys`,
    '# Put the api_key of the answer into SANDBOX_KEY, then:',
    postCommand(`${origin}/api/v1/sandbox/keyed-events`, validate),
  ].join('\n')
  const event = parseObject(body)
  if (event === null) return [{ language: 'curl', code: curl }]
  return [
    { language: 'curl', code: curl },
    {
      language: 'TypeScript',
      code: `import { Signalbox } from '@signalbox/sdk'

const signalbox = new Signalbox({ baseUrl: '${origin}' })
const { api_key: apiKey } = await signalbox.sandbox.createKey()
const { message } = await signalbox.sandbox.validate(${toTypeScript(event)}, { apiKey })
console.log(message)`,
    },
    {
      language: 'Python',
      code: `from signalbox import Signalbox

with Signalbox(base_url="${origin}") as signalbox:
    key = signalbox.sandbox.create_key()
    event = ${toPython(event, '    ')}
    result = signalbox.sandbox.validate(event, api_key=key["api_key"])
    print(result["message"])`,
    },
    {
      language: 'Go',
      code: goProgram({
        origin,
        event,
        type: 'SandboxEventSubmission',
        comment: null,
        lines: [
          'key, err := client.Sandbox.CreateKey(ctx)',
          ...GO_CHECK,
          'result, err := client.Sandbox.Validate(ctx, key.APIKey, event)',
          ...GO_CHECK,
          'fmt.Println(result.Message)',
        ],
      }),
    },
    {
      language: 'CLI',
      code: `signalbox sandbox try --base-url ${origin} \\
  --data ${quoteForShell(body)}`,
    },
  ]
}

/** A command with the credential in a variable, and the body as the shell takes it. */
export function postCommand(
  url: string,
  { variable, body }: { variable: string; body: string },
): string {
  return [
    `curl -X POST ${url} \\`,
    `  -H "Authorization: Bearer $${variable}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(body)}`,
  ].join('\n')
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Null while the text is no JSON object: a program cannot have it. */
function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** JSON, with single quotes and names without quotes where that is the same. */
function toTypeScript(value: unknown, indent = ''): string {
  if (typeof value === 'string') return quoteTypeScript(value)
  if (typeof value !== 'object' || value === null) return String(JSON.stringify(value))
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    return wrapItems(
      value.map(item => toTypeScript(item, inner)),
      { open: '[', close: ']', indent },
    )
  }
  const members = Object.entries(value).map(([name, member]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : quoteTypeScript(name)
    return `${key}: ${toTypeScript(member, inner)}`
  })
  return wrapItems(members, { open: '{', close: '}', indent })
}

function quoteTypeScript(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1)
  return `'${inner.replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`
}

const PYTHON_WORDS = new Map<unknown, string>([
  [true, 'True'],
  [false, 'False'],
  [null, 'None'],
])

/** Texts and numbers of JSON are literals of Python too. */
function toPython(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) {
    return PYTHON_WORDS.get(value) ?? JSON.stringify(value)
  }
  const inner = `${indent}    `
  if (Array.isArray(value)) {
    return wrapItems(
      value.map(item => toPython(item, inner)),
      {
        open: '[',
        close: ']',
        indent,
        step: '    ',
      },
    )
  }
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${toPython(member, inner)}`,
  )
  return wrapItems(members, { open: '{', close: '}', indent, step: '    ' })
}

interface Wrapping {
  open: string
  close: string
  indent: string
  step?: string
}

function wrapItems(items: readonly string[], { open, close, indent, step = '  ' }: Wrapping) {
  if (items.length === 0) return open + close
  return `${open}\n${items.map(item => `${indent}${step}${item},\n`).join('')}${indent}${close}`
}

const GO_CHECK = ['if err != nil {', '\tlog.Fatal(err)', '}']

interface GoProgram {
  origin: string
  event: object
  /** The type of the event. */
  type: string
  comment: string | null
  /** What is done with `client` and `event`. */
  lines: readonly string[]
}

function goProgram({ origin, event, type, comment, lines }: GoProgram): string {
  const json = JSON.stringify(event, null, '\t')
  const literal = json.includes('`') ? JSON.stringify(json) : `\`${json}\``
  const body = [
    'ctx := context.Background()',
    ...(comment === null ? [] : [`// ${comment}`]),
    `client, err := signalbox.New(signalbox.WithBaseURL("${origin}"))`,
    ...GO_CHECK,
    `var event signalbox.${type}`,
    'if err := json.Unmarshal([]byte(eventJSON), &event); err != nil {',
    '\tlog.Fatal(err)',
    '}',
    ...lines,
  ]
  return `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

const eventJSON = ${literal}

func main() {
${body.map(line => `\t${line}`).join('\n')}
}`
}
