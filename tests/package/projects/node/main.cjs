const { load } = require('rushlight');

load(process.argv[2]).then(async (model) => console.log((await model.verify()).passed));
