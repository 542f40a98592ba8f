import type { MediaExamples } from './examples/error-examples.ts'
import { OPERATION_EXAMPLES } from './examples/operation-examples.ts'
import type { DocumentedOperation } from './operations.ts'
import { describeResponse } from './response-description.ts'
import { responseHeaderNames } from './response-headers.ts'

type Json = Record<string, unknown>

/** Turns a schema into what is printed in its place. */
export type Hoist = (schema: object) => Json

/** One operation as an Operation Object (OpenAPI 3.1.0). Throws when an answer lacks an example. */
export function createOperationObject(operation: DocumentedOperation, hoist: Hoist): Json {
  const { config, schema } = operation
  const { operationId, summary, description, tag } = config
  const parameters = [
    ...pathParameters(schema, hoist),
    ...queryParameters(schema, hoist),
    ...headerParameters(config.requestHeaders),
  ]
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    // OpenAPI 3.1 has no schema of lines, and generators refuse a media type that they do not know.
    ...('requestMediaTypes' in config && { 'x-request-media-types': config.requestMediaTypes }),
    ...('security' in config && { security: config.security }),
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(operation, hoist),
    responses: createResponses(operation, hoist),
  }
}

const PATH_EXAMPLES: Record<string, unknown> = {
  event: 'order-1001',
  workspace: 1,
  action: 41,
  batch: 12,
  destination: '5b0a64b1-6a04-4c28-9a41-2f0c4a1c7c11',
}

function pathParameters(schema: DocumentedOperation['schema'], hoist: Hoist): Json[] {
  if (!('params' in schema)) return []
  return Object.entries(schema.params.properties).map(([name, property]) => {
    const { description, ...rest } = hoist(property)
    const example = PATH_EXAMPLES[name]
    return { name, in: 'path', required: true, description, schema: rest, example }
  })
}

const QUERY_EXAMPLES: Record<string, unknown> = {
  space: 'publishable',
  date: '2026-11-20',
  key: `sbx_pk_${'0'.repeat(72)}`,
  page: 1,
  per_page: 25,
  status: 'pending',
  type: 'pause',
  entity_id: '120200000000003001',
  account_id: 3,
  visitor_id: '0d5b2c1e-6f0a-4f4e-9d53-1d6f2f7c8a90',
  state: 'in_force',
  cursor: '019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11',
}

function queryParameters(schema: DocumentedOperation['schema'], hoist: Hoist): Json[] {
  if (!('querystring' in schema)) return []
  const { properties, required = [] } = schema.querystring as unknown as QuerySchema
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = hoist(property)
    const isRequired = required.includes(name)
    const example = QUERY_EXAMPLES[name]
    return { name, in: 'query', required: isRequired, description, schema: rest, example }
  })
}

interface QuerySchema {
  properties: Record<string, object>
  required?: string[]
}

const REQUEST_HEADERS: Record<string, Json> = {
  'Idempotency-Key': {
    description:
      'The id of the event, bare or quoted, at most 128 characters. It must match event_id when ' +
      'both are given.',
    schema: { type: 'string', minLength: 1 },
    example: 'order-1001',
  },
}

function headerParameters(names: readonly string[]): Json[] {
  return names.map(name => ({ name, in: 'header', required: false, ...REQUEST_HEADERS[name] }))
}

function requestBody({ config, schema }: DocumentedOperation, hoist: Hoist): Json {
  if (!('body' in schema)) return {}
  const { request } = OPERATION_EXAMPLES[config.operationId]
  const required = !('isBodyOptional' in config)
  return { requestBody: { required, content: content(hoist(schema.body), request) } }
}

function createResponses(operation: DocumentedOperation, hoist: Hoist): Json {
  const { config, schema } = operation
  const { operationId } = config
  const { responses: examples } = OPERATION_EXAMPLES[operationId]
  const responses = Object.entries(schema.response).map(([status, body]) => [
    status,
    {
      description: describeResponse(operation, Number(status)),
      headers: Object.fromEntries(
        responseHeaderNames(Number(status), config).map(name => [
          name,
          { $ref: `#/components/headers/${name}` },
        ]),
      ),
      content: content(hoist(body), examples[Number(status)]),
    },
  ])
  return Object.fromEntries(responses)
}

function content(schema: Json, examples: MediaExamples | undefined): Json {
  if (!examples) throw new Error('a body has no example')
  return { 'application/json': { schema, examples } }
}
