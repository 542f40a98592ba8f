import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')

/**
 * A folder that only some machine has: a home, or a working folder at the root. It begins a path,
 * so it follows a quote, a space or the like; `example.com/root/` is no such path.
 */
const MACHINE_PATH = new RegExp(
  [
    /(?<=^|file:\/\/|:-|[\s'"`(=:,[{<>|])/,
    /(?:\/(?:work|root)|\/(?:home|Users)\/[\w.-]+|[A-Z]:[\\/]+Users[\\/]+[\w.-]+)/,
    /(?![\w.-])[\\/]*/,
  ]
    .map(({ source }) => source)
    .join(''),
  'gm',
)
/** The home of a reader, in samples of output. */
const SAMPLE = '/home/you/'

function findMachinePaths(text: string): string[] {
  return [...text.matchAll(MACHINE_PATH)].map(([path]) => path).filter(path => path !== SAMPLE)
}

it('no file of the project names a path of one machine', {
  skip: existsSync(join(ROOT, '.git')) ? false : 'the files of the project are listed by git',
}, () => {
  const list = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  // Without those that are deleted and not committed yet.
  const paths = list.split('\0').filter(path => path !== '' && existsSync(join(ROOT, path)))
  assert.ok(paths.length > 1_000)
  assert.ok(paths.includes('.ci/run'))
  const found = paths.flatMap(path => {
    const own = findMachinePaths(readFileSync(join(ROOT, path), 'utf8'))
    return own.map(machinePath => `${path}: ${machinePath}`)
  })
  assert.deepEqual(found, [])
})

it('recognizes a path of one machine where it begins, and no other', () => {
  // Joined here, so that this file names none.
  const pathOf = (...names: string[]) => ['', ...names].join('/')
  const paths = [
    pathOf('work', 'shared', 'citus.tar.xz'),
    pathOf('root', '.npmrc'),
    pathOf('home', 'jane', 'signalbox'),
    pathOf('Users', 'jane', 'signalbox'),
    ['C:', 'Users', 'jane', 'signalbox'].join('\\'),
  ]
  for (const path of paths) {
    for (const text of [path, `cd ${path}`, `'${path}'`, `"file://${path}"`, `A=\${B:-${path}}`]) {
      assert.equal(findMachinePaths(text).length, 1, text)
    }
  }
  for (const text of [
    `${SAMPLE}signalbox/.data`,
    `https://example.com${paths[0]}`,
    `./testing${paths[2]}`,
    pathOf('workspaces', '1'),
    pathOf('workers', '1'),
    pathOf('rooted'),
    pathOf('opt', 'signalbox'),
  ]) {
    assert.deepEqual(findMachinePaths(text), [], text)
  }
})
