import assert from 'node:assert/strict'
import type { Reply } from '../testing/fixtures/service.ts'
import { closeSchemas, compileDocument, jsonPointer } from './document-checks.ts'
import { printOpenapi } from './print-openapi.ts'

// biome-ignore lint/suspicious/noExplicitAny: the printed document, read as any tool would read it
export const document: any = closeSchemas(JSON.parse(printOpenapi()))
export const check = compileDocument(document)

/** An operation of the document. */
export type Address = readonly [path: string, method: string]

/** Fails unless the status, headers and body of the response match the document. */
export function assertDocumented([path, method]: Address, reply: Reply, status: number): void {
  const where = `${status} of ${method} ${path}`
  assert.equal(reply.status, status, reply.text)
  const response = document.paths[path][method].responses[String(status)]
  assert.ok(response, `${where} is not documented`)
  for (const [name, { $ref }] of Object.entries<{ $ref: string }>(response.headers)) {
    const text = reply.headers.get(name)
    const { type } = document.components.headers[name].schema
    const value = type === 'integer' && text !== null ? Number(text) : text
    assert.deepEqual(check(`${$ref.slice(1)}/schema`, value), [], `${name} on the ${where}`)
  }
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/)
  const responses = ['paths', path, method, 'responses', String(status)]
  const pointer = jsonPointer(...responses, 'content', 'application/json', 'schema')
  assert.deepEqual(check(pointer, reply.body), [], where)
}

// biome-ignore lint/suspicious/noExplicitAny: an example is any JSON
export function findExample([path, method]: Address, status: number, name: string): any {
  const { examples } = jsonContent(document.paths[path][method].responses[String(status)])
  assert.ok(examples[name], `no example ${name} for ${status} of ${method} ${path}`)
  return examples[name].value
}

// biome-ignore lint/suspicious/noExplicitAny: see above
export function jsonContent(described: any): any {
  return described.content['application/json']
}
