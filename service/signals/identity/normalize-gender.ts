/**
 * Words that name a woman or a man, as forms and shops store them: sex, salutations, titles and
 * kin, in English and in the languages of most customers. Folded: lower case, without accents.
 * Words that mean both in two languages are in neither list.
 */
const FEMALE_WORDS = `
  f female fem femal w woman women girl lady ladies gal lass maiden chick belle she her hers herself
  ms miss mrs mistress madam maam madame mother mom mommy mum mummy mama mamma daughter sister wife
  aunt auntie niece grandmother grandma granddaughter girlfriend bride widow heroine goddess queen
  princess duchess countess empress baroness
  feminin feminine femme fille mme mlle mademoiselle epouse soeur
  weiblich frau fraulein madchen dame tochter schwester
  mujer femenino femenina hembra chica senora senorita sra srta dona
  mulher feminino feminina menina senhora
  femmina femminile donna ragazza signora signorina
  vrouw vrouwelijk vrouwen meisje mevrouw mevr mejuffrouw
  kvinna kvinnlig kvinde kvindelig kvinne kvinnelig flicka pige jente fru frk kona
  nainen naispuolinen tytto rouva neiti
  kobieta zenska zenski pani zena zenske slecna pania
  holgy femeie feminina doamna
  kadin kadın bayan kiz kız hanim hanım
  gynaika thily perempuan wanita
  ж жен женский женская женщина жена женски жінка жіноча жіночий
  γυναικα θηλυ θηλυκο κυρια
  אישה נקבה גברת أنثى امرأة انثى امراة سيدة
  女 女性 女子 女士 小姐 여 여자 여성 महिला स्त्री औरत หญิง ผู้หญิง`

const MALE_WORDS = `
  m male masc mal man men boy gentleman gentlemen guy lad fellow chap bloke dude he him his himself
  mr mister sir lord father dad daddy papa son brother husband uncle nephew grandfather grandpa
  grandson boyfriend groom bridegroom widower hero god king prince duke count emperor baron
  masculin masculine homme garcon monsieur frere
  mannlich herr junge knabe sohn bruder
  hombre masculino varon macho chico senor sr
  homem menino senhor
  maschio maschile uomo ragazzo signor signore
  mannelijk heer meneer dhr jongen
  manlig mand mandlig mann mannlig pojke dreng gutt herre
  mies miespuolinen poika herra
  mezczyzna meski muz muzsky muski muzske
  ferfi barbat domnul
  erkek bay oglan
  andras arren laki pria
  м муж мужской мужская мужчина мъж чоловік чоловіча чоловічий
  ανδρας αρρεν αρσενικο κυριος
  גבר זכר אדון ذكر رجل سيد
  男 男性 男子 先生 남 남자 남성 पुरुष आदमी ชาย ผู้ชาย`

const GENDERS = new Map([...readWords(FEMALE_WORDS, 'f'), ...readWords(MALE_WORDS, 'm')])

function readWords(text: string, gender: 'f' | 'm'): [string, 'f' | 'm'][] {
  return text
    .trim()
    .split(/\s+/)
    .map(word => [foldWord(word), gender])
}

/** Latin and Greek letters lose their accents; in other scripts they are letters of their own. */
function foldWord(word: string): string {
  return word
    .normalize('NFKD')
    .replace(/(?<=[\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu, '')
    .normalize('NFC')
}

const WORD = /[\p{L}\p{M}]+(?:['’´`][\p{L}\p{M}]+)*/gu
const WORDS_MAX = 4

/**
 * `f` or `m`, when every word says the same: `Mr.`, `Ma'am`, `1 - Female`, `laki-laki`. Null for
 * other words, for two genders at once, and for a word with a digit inside.
 */
export function normalizeGender(prepared: string): 'f' | 'm' | null {
  if (/\p{L}\d+\p{L}/u.test(prepared)) return null
  const words = prepared.match(WORD) ?? []
  if (words.length > WORDS_MAX) return null
  const genders = new Set(words.map(word => GENDERS.get(foldWord(word.replace(/['’´`]/g, '')))))
  const [gender] = genders
  return genders.size === 1 && gender !== undefined ? gender : null
}
