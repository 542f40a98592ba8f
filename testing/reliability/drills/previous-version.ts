import { execFileSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

const ROOT = join(import.meta.dirname, '../../..')

/** The last commit whose newest migration is 0024, after the redesign of the store in 0016. */
const PREVIOUS_COMMIT = 'cc44a01e555192544047963a5bc9f67e9333dc48'

/** Reason to skip a drill that needs earlier code, or false. */
export function findObstacle(): string | false {
  if (!hasCommit()) return `NOT RUN: no git history with ${PREVIOUS_COMMIT.slice(0, 7)}`
  const { dependencies } = JSON.parse(runGit(['show', `${PREVIOUS_COMMIT}:package.json`]))
  const missing = Object.entries<string>(dependencies).filter(
    ([name, version]) => installedVersion(name) !== version,
  )
  if (missing.length === 0) return false
  return `NOT RUN: the earlier code needs ${missing.map(pair => pair.join('@')).join(', ')}`
}

/** The tree of the earlier commit with the libraries of this one. Returns its program. */
export function checkOutPreviousVersion(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-previous-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const archive = join(folder, '.tree.tar')
  runGit(['archive', `--output=${archive}`, PREVIOUS_COMMIT])
  execFileSync('tar', ['-xf', archive, '-C', folder])
  linkLibraries(folder)
  return join(folder, 'service', 'main.ts')
}

/** The workspaces are those of the earlier tree; a link to node_modules would lead to ours. */
function linkLibraries(folder: string): void {
  const libraries = join(folder, 'node_modules')
  mkdirSync(join(libraries, '@signalbox'), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name === '@signalbox' || name.startsWith('.')) continue
    symlinkSync(join(ROOT, 'node_modules', name), join(libraries, name))
  }
  const { workspaces } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const manifests = workspaces.map((workspace: string) => `${workspace}/package.json`)
  for (const path of globSync(manifests, { cwd: folder })) {
    const { name } = JSON.parse(readFileSync(join(folder, path), 'utf8'))
    const link = join(libraries, name)
    if (!existsSync(link)) symlinkSync(join(folder, dirname(path)), link)
  }
}

function hasCommit(): boolean {
  try {
    runGit(['cat-file', '-e', `${PREVIOUS_COMMIT}^{commit}`])
    return true
  } catch {
    return false
  }
}

function installedVersion(name: string): string | null {
  const path = join(ROOT, 'node_modules', name, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : null
}

function runGit(list: string[]): string {
  return execFileSync('git', list, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
