import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import {
  generated,
  type StartForwarder,
  temporaryFolder,
  type Upstream,
} from './forwarder-under-test.ts'

/** Skip message of the test runner when nginx is not installed; false when it is. */
export const nginxMissing =
  spawnSync('nginx', ['-v']).error === undefined
    ? false
    : 'nginx is not installed: its forwarder is not tested'

/** A real nginx with the generated configuration on a free port. */
export const startNginx: StartForwarder = async (test, upstream) => {
  const url = await startShop(test, upstream)
  return { send: (path, init) => fetch(`${url}${path}`, init) }
}

/** nginx in front of a shop whose other pages come from `shopUrl`. Returns its URL. */
export async function startShop(
  test: TestContext,
  upstream: Upstream,
  shopUrl = 'http://127.0.0.1:9',
): Promise<string> {
  const folder = temporaryFolder(test)
  const port = await findFreePort()
  writeFileSync(join(folder, 'forwarder.conf'), generated('nginx', upstream))
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, shopUrl))
  const commands = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
  execFileSync('nginx', [...commands, '-t'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const nginx = spawn('nginx', commands, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(nginx, 'exit')
  test.after(async () => {
    nginx.kill('SIGTERM')
    await ended
  })
  // Its first log line appears once it listens.
  await Promise.race([once(nginx.stderr, 'data'), ended])
  nginx.stderr.resume()
  return `http://127.0.0.1:${port}`
}

function configuration(folder: string, port: number, shopUrl: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr notice;
events {}
http {
  access_log off;
  ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    include ${folder}/forwarder.conf;
    location / { proxy_pass ${shopUrl}; }
  }
}
`
}
