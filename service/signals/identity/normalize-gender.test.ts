import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeIdentifier } from './identifier-formats.ts'
import { normalizeGender } from './normalize-demographics.ts'

const read = (text: string) => normalizeGender(normalizeIdentifier(text))

it('reads words for a woman', () => {
  for (const word of [
    ...['f', 'F', 'Female', 'woman', 'WOMAN', 'Mrs', 'Mrs.', 'Ms', 'Miss', "Ma'am", 'Ma’am', 'she'],
    ...['girl', 'mother', 'queen', 'she/her', 'weiblich', 'Frau', 'Fräulein', 'w', 'femme', 'Mme'],
    ...['féminin', 'mujer', 'Sra.', 'Señora', 'mulher', 'donna', 'femmina', 'vrouw', 'kvinna'],
    ...['kobieta', 'žena', 'nainen', 'kadın', 'γυναίκα', 'женский', 'ж', 'жінка', 'أنثى', 'נקבה'],
    ...['女', '女性', '여자', 'महिला', 'หญิง', 'perempuan', '1 - Female', 'Frau / Miss', 'F.'],
  ])
    assert.equal(read(word), 'f', word)
})

it('reads words for a man', () => {
  for (const word of [
    ...['m', 'M', 'male', 'MALE.', 'man', 'Mr', 'Mr.', 'Sir', 'boy', 'father', 'king', 'he/him'],
    ...['männlich', 'Herr', 'homme', 'M.', 'Monsieur', 'masculin', 'hombre', 'Sr.', 'señor'],
    ...[
      'homem',
      'uomo',
      'maschio',
      'man',
      'de heer'.slice(3),
      'manlig',
      'mand',
      'mies',
      'mężczyzna',
    ],
    ...['muž', 'férfi', 'erkek', 'άνδρας', 'мужской', 'м', 'чоловік', 'ذكر', 'זכר', '男', '男性'],
    ...['남자', 'पुरुष', 'ชาย', 'laki-laki', 'male (1)'],
  ])
    assert.equal(read(word), 'm', word)
})

it('reads nothing else', () => {
  for (const word of [
    ...[
      '',
      'x',
      'd',
      'divers',
      'diverse',
      'other',
      'unknown',
      'non-binary',
      'they',
      'm/f',
      'm/w/d',
    ],
    ...[
      'Mr. & Mrs.',
      'male/female',
      'mal3e',
      'fem4ale',
      'males only',
      'trans',
      'n/a',
      'H',
      'K',
      'E',
    ],
    ...[
      'malefemale',
      'pan',
      'Mari',
      'Andrea',
      'Mannheim',
      '0',
      '1',
      'constructor',
      'he said she said',
    ],
  ])
    assert.equal(read(word), null, word)
})
