const { RushlightError, load } = require('rushlight');

load(process.argv[2]).then(async (model) => {
  const { passed } = await model.verify();
  const same = RushlightError === (await import('rushlight')).RushlightError;
  console.log(`${passed}, ${same ? 'the same' : 'other'} errors`);
});
