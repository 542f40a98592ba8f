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

/** A generated forwarder that runs as its kind does, before an upstream of the test. */
export interface ForwarderUnderTest {
  /** Sends a request from the browser's side; the path begins with the forwarder's, `/sb`. */
  send(path: string, init?: RequestInit): Promise<Response>
}

export interface Upstream {
  /** With its path; events go to `{baseUrl}/events`. */
  baseUrl: string
  tagPath?: string
  secret?: string | undefined
  /** The browser's address, where the kind is told it by a header. */
  clientIp?: string
  /** Where the shop is that the Worker stands before. */
  shopUrl?: string
  /** Instead of five seconds. */
  timeoutMilliseconds?: number
}

export type StartForwarder = (test: TestContext, upstream: Upstream) => Promise<ForwarderUnderTest>

/** The Worker runs under Node, which has the same Request and Response. */
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
      // As Next.js does with a method that the file does not export.
      const handler = route[request.method]
      return handler ? handler(request) : new Response(null, { status: 405 })
    },
  }
}

/** A real Express on a free port; with a client address it stands behind a proxy on loopback. */
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

// Its types are a package of their own, which nothing else here needs.
export const express = createRequire(import.meta.url)('express')

export async function expressForwarder(test: TestContext, upstream: Upstream) {
  const { signalboxForwarder } = await imported(test, 'express', upstream)
  const clientIp = upstream.clientIp === undefined ? 'socket' : 'trust-proxy'
  return signalboxForwarder({ secret: secretOf(upstream), clientIp })
}

/** Starts the server on a free port, to be closed with the test. */
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

/** The generated text, with its timeout shortened where the test has to wait for it. */
export function generated(kind: ForwarderKind, upstream: Upstream): string {
  const { baseUrl, tagPath, timeoutMilliseconds = 5_000 } = upstream
  return renderForwarder(kind, { baseUrl, path: '/sb', tagPath })
    .replace('timeoutMilliseconds = 5_000', `timeoutMilliseconds = ${timeoutMilliseconds}`)
    .replaceAll('timeout 5s', `timeout ${timeoutMilliseconds}ms`)
}

// biome-ignore lint/suspicious/noExplicitAny: each kind exports something else
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
