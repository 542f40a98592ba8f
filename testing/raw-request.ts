import { request } from 'node:http'
import { noteAnswer } from './reached-answers.ts'
import type { Reply, ServiceUnderTest } from './service-under-test.ts'

export interface RawRequest {
  method: string
  path: string
  /** Several values stand in as many lines, which `fetch` cannot send. */
  headers: Record<string, string | string[]>
}

/** A request as no decent client would send it. */
export function rawRequest({ url }: ServiceUnderTest, sent: RawRequest): Promise<Reply> {
  const { method, path, headers } = sent
  return new Promise((resolve, reject) => {
    const outgoing = request(url + path, { method, headers, agent: false }, async answer => {
      const text = (await answer.toArray()).join('')
      const status = answer.statusCode ?? 0
      noteAnswer({ method, path, status })
      const pairs = Object.entries(answer.headersDistinct).map(
        ([name, values]): [string, string] => [name, (values ?? []).join(', ')],
      )
      resolve({ status, headers: new Headers(pairs), text, body: JSON.parse(text) })
    })
    outgoing.on('error', reject).end()
  })
}
