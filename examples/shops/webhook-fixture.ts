import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Signalbox } from '@signalbox/sdk'
import { startTestService } from '../../testing/fixtures/service.ts'

export const SECRET = 'secret-of-the-webhook'

/** A service with a client, for the tests of the webhooks. */
export async function startShopService(test: TestContext) {
  const service = await startTestService(test)
  const lines: string[] = []
  const options = {
    signalbox: new Signalbox({
      token: service.tracker.trackerSecret,
      baseUrl: `${service.url}/api/v1`,
    }),
    secret: SECRET,
    log: (line: string) => lines.push(line),
  }
  /** Delivers what is due and returns all that the platform received, by id. */
  const deliver = async () => {
    await service.deliver()
    const { events } = (await service.received()) as { events: Record<string, unknown>[] }
    return new Map(events.map(event => [String(event.event_id), event]))
  }
  return { service, options, lines, deliver }
}

// biome-ignore lint/suspicious/noExplicitAny: a document of another program
export function readPayload(name: string): any {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'payloads', name), 'utf8'))
}

/** A request as the shop system sends it. */
export function signedRequest(
  payload: object,
  { header, headers }: { header: string; headers: Record<string, string> },
): Request {
  const body = JSON.stringify(payload)
  const signature = createHmac('sha256', SECRET).update(body).digest('base64')
  return new Request('https://hooks.shop.example/orders', {
    method: 'POST',
    headers: { 'content-type': 'application/json', [header]: signature, ...headers },
    body,
  })
}

/** The route handler of a guide, with its environment. */
export async function importGuide(
  test: TestContext,
  { page, environment }: { page: string; environment: Record<string, string> },
): Promise<(request: Request) => Promise<Response>> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/guides', page), 'utf8')
  const [, program = ''] = /```ts\n(.*?)```/s.exec(text) ?? []
  const folder = mkdtempSync(join(import.meta.dirname, 'guide-'))
  Object.assign(process.env, environment)
  test.after(() => {
    rmSync(folder, { recursive: true })
    for (const name of Object.keys(environment)) delete process.env[name]
  })
  const file = join(folder, 'route.ts')
  writeFileSync(file, program.replaceAll("from './", "from '../"))
  const { POST } = await import(pathToFileURL(file).href)
  return POST
}
