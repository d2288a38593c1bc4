// Projects of any size in six families of languages, as project_map meets them: packages that import
// each other, what comes with the language, and one thing that is not there.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SIZE = 100; // files of a package

const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const packages = (n) => Math.ceil(n / SIZE);

/** Each: files(n) gives about n [path, text]; `language` is what the map calls it, `target` a file that many import. */
export const FAMILIES = {
  c: {
    language: 'C',
    target: 'include/common.h',
    missing: 'pkg0/file1.c -> "not/there.h"',
    files: (n) => [
      ['include/common.h', '#pragma once\nint common(void);\n'],
      ...range(n, (i) => {
        const at = Math.floor(i / SIZE);
        const lost = i === 1 ? '#include "not/there.h"\n' : '';
        return [`pkg${at}/file${i}.c`, `#include <stdio.h>\n#include "stdint.h"\n#include "common.h"\n#include "../pkg${Math.max(at - 1, 0)}/file${i < SIZE ? 0 : i - SIZE}.c"\n${lost}int fn_${i}(void)\n{\n\treturn ${i};\n}\n`];
      }),
    ],
  },
  python: {
    language: 'Python',
    target: 'src/app/common.py',
    missing: 'src/app/pkg0/file1.py -> from ..pkg0.not_there import x',
    files: (n) => [
      ['src/app/__init__.py', ''],
      ['src/app/common.py', 'def common():\n    return 1\n'],
      ['src/app/logging.py', ''],
      ...range(packages(n), (i) => [`src/app/pkg${i}/__init__.py`, '']),
      ...range(n, (i) => {
        const at = Math.floor(i / SIZE);
        const lost = i === 1 ? 'from ..pkg0.not_there import x\n' : '';
        return [`src/app/pkg${at}/file${i}.py`, `import logging.config\nimport os.path, sys\nfrom ..common import common\nfrom app.pkg${at} import file${at * SIZE}\n${lost}\n\ndef fn_${i}():\n    return ${i}\n`];
      }),
    ],
  },
  javascript: {
    language: 'JavaScript',
    target: 'lib/common.js',
    missing: 'src/pkg0/file1.js -> ./not_there',
    files: (n) => [
      ['lib/common.js', 'exports.common = () => 1;\n'],
      ...range(n, (i) => {
        const lost = i === 1 ? "const x = require('./not_there');\n" : '';
        return [`src/pkg${Math.floor(i / SIZE)}/file${i}.js`, `// import './in_a_comment'\nconst fs = require('fs');\nconst { common } = require('../../lib/common');\nconst say = "import './in_a_string'";\n${lost}\nfunction fn_${i}() {\n  return ${i};\n}\n`];
      }),
    ],
  },
  typescript: {
    language: 'TypeScript',
    target: 'src/common.ts',
    missing: 'src/pkg0/file1.ts -> ../not_there',
    files: (n) => [
      ['src/common.ts', 'export const common = 1;\n'],
      ...range(packages(n), (i) => [`src/pkg${i}/index.ts`, `export * from './file${i * SIZE}';\n`]),
      ...range(n, (i) => {
        const lost = i === 1 ? "import x from '../not_there';\n" : '';
        return [`src/pkg${Math.floor(i / SIZE)}/file${i}.ts`, `import { join } from 'node:path';\nimport {\n  common,\n} from '../common.js';\nimport * as own from '.';\n${lost}\nexport function fn_${i}(): number {\n  return ${i};\n}\n`];
      }),
    ],
  },
  go: {
    language: 'Go',
    target: 'common/common.go',
    missing: 'pkg0/file1.go -> example.org/app/not/there',
    files: (n) => [
      ['go.mod', 'module example.org/app\n\ngo 1.19\n'],
      ['common/common.go', 'package common\n\nfunc Common() int {\n\treturn 1\n}\n'],
      ...range(n, (i) => {
        const lost = i === 1 ? '\t"example.org/app/not/there"\n' : '';
        return [`pkg${Math.floor(i / SIZE)}/file${i}.go`, `package pkg\n\nimport (\n\t"fmt"\n\t"github.com/other/thing"\n\n\t"example.org/app/common"\n${lost})\n\nfunc Fn${i}() int {\n\treturn ${i}\n}\n`];
      }),
    ],
  },
  rust: {
    language: 'Rust',
    target: 'src/common.rs',
    missing: 'src/pkg0/mod.rs -> mod not_there',
    files: (n) => [
      ['Cargo.toml', '[package]\nname = "app"\n'],
      ['src/main.rs', `mod common;\n${range(packages(n), (i) => `mod pkg${i};\n`).join('')}\nfn main() {}\n`],
      ['src/common.rs', 'pub fn common() -> u32 {\n    1\n}\n'],
      ...range(packages(n), (i) => [`src/pkg${i}/mod.rs`, `${i ? '' : 'mod not_there;\n'}${range(Math.min(SIZE, n - i * SIZE), (j) => `pub mod file${i * SIZE + j};\n`).join('')}`]),
      ...range(n, (i) => [`src/pkg${Math.floor(i / SIZE)}/file${i}.rs`, `use std::fmt;\nuse serde::Serialize;\n${i ? 'use crate::common::common;' : ''}\n\npub fn fn_${i}() -> u32 {\n    ${i}\n}\n`]),
    ],
  },
  java: {
    language: 'Java',
    target: 'src/main/java/org/app/Common.java',
    missing: 'src/main/java/org/app/pkg0/File1.java -> org.app.pkg0.NotThere',
    files: (n) => [
      ['src/main/java/org/app/Common.java', 'package org.app;\n\npublic class Common {\n}\n'],
      ...range(n, (i) => {
        const at = Math.floor(i / SIZE);
        const lost = i === 1 ? 'import org.app.pkg0.NotThere;\n' : '';
        return [`src/main/java/org/app/pkg${at}/File${i}.java`, `package org.app.pkg${at};\n\nimport java.util.List;\nimport org.other.Thing;\nimport org.app.Common;\n${lost}\npublic class File${i} {\n\tint fn${i}() {\n\t\treturn ${i};\n\t}\n}\n`];
      }),
    ],
  },
};

/** Makes a family's project of about n files in the folder; how many there are. */
export function makeProject(folder, family, n) {
  const files = FAMILIES[family].files(n);
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return files.length;
}
