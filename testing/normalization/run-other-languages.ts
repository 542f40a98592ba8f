import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CASES, type NormalizationCase, type Outcome } from './cases.ts'

export const PYTHON_SDK = ['facebook-business', '26.0.3'] as const
export const JAVA_SDK = [
  'com.facebook.business.sdk',
  'facebook-java-business-sdk',
  '24.0.1',
] as const

type Normalize = (one: NormalizationCase) => Outcome

/** In one process: it reads the cases as JSON from its input and answers with JSON. */
export function createPythonSdk(folder: string): Normalize {
  const environment = join(folder, 'python')
  execFileSync('python3', ['-m', 'venv', environment])
  const [name, version] = PYTHON_SDK
  const pip = [join(environment, 'bin/pip'), 'install', '--quiet', `${name}==${version}`]
  execFileSync(pip[0] as string, pip.slice(1))
  const script = join(import.meta.dirname, 'record_python.py')
  const answer = execFileSync(join(environment, 'bin/python'), [script], {
    input: JSON.stringify(CASES),
  })
  const outcomes: Outcome[] = JSON.parse(answer.toString())
  return one => outcomes[CASES.indexOf(one)] as Outcome
}

/** In one process, as the one for Python. */
export function createJavaSdk(folder: string): Normalize {
  const [groupId, artifactId, version] = JAVA_SDK
  const tag = (name: string, content: string) => `<${name}>${content}</${name}>`
  const coordinates = (group: string, artifact: string, given: string) =>
    tag('groupId', group) + tag('artifactId', artifact) + tag('version', given)
  const dependency = tag('dependency', coordinates(groupId, artifactId, version))
  const recorder = tag('modelVersion', '4.0.0') + coordinates('recorder', 'recorder', '1')
  const project = tag('project', recorder + tag('dependencies', dependency))
  writeFileSync(join(folder, 'pom.xml'), project)
  const copy = ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=java']
  execFileSync('mvn', copy, { cwd: folder })
  const script = join(import.meta.dirname, 'RecordJava.java')
  const answer = execFileSync('java', ['-cp', `${join(folder, 'java')}/*`, script], {
    input: JSON.stringify(CASES),
  })
  const outcomes: Outcome[] = JSON.parse(answer.toString())
  return one => outcomes[CASES.indexOf(one)] as Outcome
}
