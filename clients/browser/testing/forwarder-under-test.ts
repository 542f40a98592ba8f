import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type ForwarderKind, renderForwarder } from '../forwarder-template.ts'

export const SECRET = 'sbx_fwd_example-of-the-documents'

/** A generated forwarder in its runtime, in front of the test's upstream. */
export interface ForwarderUnderTest {
  /** Sends a request as the browser; the path starts with the forwarder's, `/sb`. */
  send(path: string, init?: RequestInit): Promise<Response>
}

export interface Upstream {
  /** Base URL with its path; events go to `{baseUrl}/events`. */
  baseUrl: string
  tagPath?: string
  secret?: string | undefined
  /** The browser's address, for kinds that read it from a header. */
  clientIp?: string
  /** The shop behind the Worker. */
  shopUrl?: string
  /** Default: five seconds. */
  timeoutMilliseconds?: number
}

export type StartForwarder = (test: TestContext, upstream: Upstream) => Promise<ForwarderUnderTest>

/** Runs the Worker under Node, which has the same Request and Response. */
export const startWorker: StartForwarder = async (test, upstream) => {
  const { default: worker } = await imported(test, 'cloudflare-worker', upstream)
  const environment = { SIGNALBOX_FORWARDING_SECRET: secretOf(upstream) }
  return {
    send: (path, init) => {
      const request = new Request(`${upstream.shopUrl ?? 'https://shop.example'}${path}`, init)
      if (upstream.clientIp) request.headers.set('cf-connecting-ip', upstream.clientIp)
      return worker.fetch(request, environment)
    },
  }
}

export const startNext: StartForwarder = async (test, upstream) => {
  setEnvironment(test, 'SIGNALBOX_FORWARDING_SECRET', secretOf(upstream))
  setEnvironment(test, 'SIGNALBOX_CLIENT_IP_HEADER', upstream.clientIp && 'x-real-ip')
  const route = await imported(test, 'next-route', upstream)
  return {
    send: async (path, init) => {
      const request = new Request(`https://shop.example${path}`, init)
      if (upstream.clientIp) request.headers.set('x-real-ip', upstream.clientIp)
      // Like Next.js for a method that the file does not export.
      const handler = route[request.method]
      return handler ? handler(request) : new Response(null, { status: 405 })
    },
  }
}

/** A real Express on a free port, behind a proxy on loopback if there is a client address. */
export const startExpress: StartForwarder = async (test, upstream) => {
  const app = express()
  app.set('trust proxy', 'loopback')
  app.use('/sb', await expressForwarder(test, upstream))
  const url = await listening(test, createServer(app))
  return {
    send: (path, init) => {
      const request = new Request(`${url}${path}`, init)
      if (upstream.clientIp) request.headers.set('x-forwarded-for', upstream.clientIp)
      return fetch(request)
    },
  }
}

// Avoids a dependency on the types package of Express.
export const express = createRequire(import.meta.url)('express')

export async function expressForwarder(test: TestContext, upstream: Upstream) {
  const { signalboxForwarder } = await imported(test, 'express', upstream)
  const clientIp = upstream.clientIp === undefined ? 'socket' : 'trust-proxy'
  return signalboxForwarder({ secret: secretOf(upstream), clientIp })
}

/** Starts the server on a free port and closes it with the test. */
export async function listening(test: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function temporaryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-forwarder-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The generated source, with a shorter timeout where the test waits for it. */
export function generated(kind: ForwarderKind, upstream: Upstream): string {
  const { baseUrl, tagPath, timeoutMilliseconds = 5_000 } = upstream
  return renderForwarder(kind, { baseUrl, path: '/sb', tagPath })
    .replace('timeoutMilliseconds = 5_000', `timeoutMilliseconds = ${timeoutMilliseconds}`)
    .replaceAll('timeout 5s', `timeout ${timeoutMilliseconds}ms`)
}

// biome-ignore lint/suspicious/noExplicitAny: each kind has different exports
async function imported(test: TestContext, kind: ForwarderKind, upstream: Upstream): Promise<any> {
  const file = join(temporaryFolder(test), `${kind}.mts`)
  writeFileSync(file, generated(kind, upstream))
  return import(pathToFileURL(file).href)
}

function secretOf(upstream: Upstream): string | undefined {
  return 'secret' in upstream ? upstream.secret : SECRET
}

function setEnvironment(test: TestContext, name: string, value: string | undefined): void {
  if (value) process.env[name] = value
  test.after(() => delete process.env[name])
}
