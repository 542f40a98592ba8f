import {
  describeType,
  describeValue,
  markdownTable,
  type Schema,
  schemaLink,
} from './schema-types.ts'

interface Example {
  summary: string
  value: unknown
}

type Content = Record<string, { schema: Schema; examples?: Record<string, Example> }>

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: Schema
  example?: unknown
}

interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security?: Record<string, unknown>[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<
    string,
    { description: string; headers: Record<string, unknown>; content: Content }
  >
}

export interface OpenapiDocument {
  info: { title: string; version: string; description: string }
  security: Record<string, unknown>[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    headers: Record<string, { description: string }>
    securitySchemes: Record<string, { description: string; bearerFormat?: string }>
  }
}

interface Endpoint extends Operation {
  method: string
  path: string
}

/** The API reference as Markdown, from the contract: what the signed document says, for people. */
export function renderApiReference(document: OpenapiDocument): string {
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  )
  return [
    `# API reference\n`,
    `${document.info.description}\n`,
    'The base URL is `{base_url}`. The same contract as OpenAPI 3.1, signed, is at ' +
      `[/openapi.json](/openapi.json) (version ${document.info.version}); generate clients from ` +
      'it. Every field is in [Schemas](/docs/schemas.md).\n',
    '## Operations\n',
    markdownTable(['Operation', 'Request', 'What it does'], endpoints.map(listRow)),
    renderCredentials(document),
    renderHeaders(document),
    ...document.tags.map(({ name, description }) => {
      const own = endpoints.filter(({ tags }) => tags.includes(name))
      const parts = own.map(endpoint => renderEndpoint(endpoint, document))
      return [`## ${name}\n`, `${description}\n`, ...parts].join('\n')
    }),
  ].join('\n')
}

function listRow({ operationId, method, path, summary }: Endpoint): string[] {
  return [`[${operationId}](#${operationId.toLowerCase()})`, `\`${method} ${path}\``, summary]
}

function renderCredentials({ components }: OpenapiDocument): string {
  const rows = Object.entries(components.securitySchemes).map(([name, scheme]) => [
    name,
    scheme.bearerFormat ?? 'the query parameter `key`',
    scheme.description,
  ])
  return `## Credentials\n\n${markdownTable(['Name', 'Looks like', 'What it opens'], rows)}`
}

function renderHeaders({ components }: OpenapiDocument): string {
  const rows = Object.entries(components.headers).map(([name, { description }]) => [
    `\`${name}\``,
    description,
  ])
  return `## Response headers\n\n${markdownTable(['Header', 'Meaning'], rows)}`
}

function renderEndpoint(endpoint: Endpoint, document: OpenapiDocument): string {
  const { operationId, method, path, summary, description } = endpoint
  const credentials = (endpoint.security ?? document.security).flatMap(Object.keys)
  const credential = credentials.length === 0 ? 'none' : [...new Set(credentials)].join(' or ')
  return [
    `### ${operationId}\n`,
    `\`${method} {base_url}${path}\`\n`,
    `**${summary}.** ${description}\n`,
    `Credential: ${credential}.\n`,
    renderParameters(endpoint),
    renderRequest(endpoint, credentials),
    renderResponses(endpoint),
  ].join('\n')
}

function renderParameters({ parameters }: Endpoint): string {
  if (!parameters) return ''
  const rows = parameters.map(parameter => [
    `\`${parameter.name}\``,
    `${parameter.in}${parameter.required ? ', required' : ''}`,
    describeType(parameter.schema),
    parameter.description ?? parameter.schema.description ?? '',
  ])
  return `#### Parameters\n\n${markdownTable(['Name', 'In', 'Type', 'Description'], rows)}`
}

function renderRequest(endpoint: Endpoint, credentials: string[]): string {
  const { requestBody } = endpoint
  const heading = '#### Request\n'
  if (!requestBody) return [heading, curlBlock(endpoint, { credentials })].join('\n')
  const content = requestBody.content['application/json']
  const bodies = [...bodyReferences(content?.schema)].map(schemaLink).join(' or ')
  const optional = requestBody.required ? '' : ', optional'
  const examples = Object.values(content?.examples ?? {})
  const [first] = examples
  return [
    heading,
    `The body is ${bodies}${optional}.\n`,
    curlBlock(endpoint, { credentials, body: first?.value }),
    ...examples.slice(1).map(exampleBlock),
  ].join('\n')
}

function bodyReferences(schema: Schema | undefined): string[] {
  const { $ref, anyOf = [], oneOf = [] } = schema ?? {}
  if ($ref !== undefined) return [$ref]
  return [...anyOf, ...oneOf].flatMap(bodyReferences)
}

interface CurlOptions {
  credentials: string[]
  body?: unknown
}

/** The request as a command; `bash` marks it as an illustration, not as a block that tests run. */
function curlBlock(endpoint: Endpoint, { credentials, body }: CurlOptions): string {
  const { method, path, parameters = [] } = endpoint
  const url = parameters
    .filter(parameter => parameter.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path)
  const query = parameters
    .filter(parameter => parameter.in === 'query' && parameter.required)
    .map(({ name, example }) => `${name}=${String(example)}`)
  const address = `'{base_url}${[url, ...(query.length > 0 ? [query.join('&')] : [])].join('?')}'`
  const options = [
    method === 'GET' ? '' : ` -X ${method}`,
    ...(credentials.length > 0 ? [' \\\n  -H "Authorization: Bearer $SECRET"'] : []),
    ...(body === undefined ? [] : [` \\\n  --json '${quoted(body)}'`]),
  ]
  return `\`\`\`bash\ncurl${options[0]} ${address}${options.slice(1).join('')}\n\`\`\`\n`
}

function quoted(body: unknown): string {
  return JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
}

function renderResponses({ responses }: Endpoint): string {
  const rows = Object.entries(responses).map(([status, { description, content }]) => [
    `\`${status}\``,
    description,
    [...new Set(bodyReferences(content['application/json']?.schema))].map(schemaLink).join(' or '),
  ])
  const examples = Object.entries(responses)
    .filter(([status]) => Number(status) < 300)
    .flatMap(([status, { content }]) =>
      Object.values(content['application/json']?.examples ?? {}).map(example =>
        exampleBlock({ ...example, summary: `${status}: ${example.summary}` }),
      ),
    )
  const table = markdownTable(['Status', 'When', 'Body'], rows)
  return ['#### Responses\n', table, ...examples].join('\n')
}

function exampleBlock({ summary, value }: Example): string {
  return `${summary}:\n\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`
}

/** Every named schema with its fields, as Markdown. */
export function renderSchemas({ components }: OpenapiDocument): string {
  const parts = Object.entries(components.schemas)
    .toSorted(([one], [other]) => one.localeCompare(other, 'en'))
    .map(([name, schema]) => renderSchema(name, schema))
  return ['# Schemas\n', 'The fields of every request and response.\n', ...parts].join('\n')
}

function renderSchema(name: string, schema: Schema): string {
  const { description, properties, required = [] } = schema
  const parts = [`## ${name}\n`, ...(description ? [`${description}\n`] : [])]
  if (!properties)
    return [...parts, `Type: ${describeType(withoutProperties(schema))}.\n`].join('\n')
  const rows = Object.entries(properties).map(([field, value]) => [
    `\`${field}\``,
    describeType(value),
    required.includes(field) ? 'yes' : '',
    describeValue(value),
  ])
  return [...parts, markdownTable(['Field', 'Type', 'Required', 'Description'], rows)].join('\n')
}

function withoutProperties(schema: Schema): Schema {
  const { additionalProperties } = schema
  if (typeof additionalProperties !== 'object') return schema
  return { type: `object with members of type ${describeType(additionalProperties)}` }
}
