package pipe_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport lists the allowed imports of every package, for programs and tests alike. A package without a row, and an
// import that is not in its row, fail the test: a new arrow is a reviewed change of one line here.
var mayImport = map[string][]string{
	".":                                {},
	"bench":                            {"costs", "costs/outcome", "experts/builder", "experts/builder/part", "experts/chat", "experts/kinds", "experts/retrieval", "featurize/tabular", "internal/atomicfile", "internal/config", "internal/lists", "internal/parallel", "internal/seeded", "internal/storage", "internal/textfile", "internal/world", "models", "models/auto", "models/baseline", "models/lightgbm", "models/network", "models/paper", "models/policy", "models/regress", "onnx/ort", "pipeline/decide", "pipeline/eval", "pipeline/features", "pipeline/imports", "pipeline/methods", "pipeline/replay", "pipeline/report", "pipeline/stage", "pipeline/train"},
	"cloud":                            {"internal/storage"},
	"cloud/cloudtest":                  {},
	"cmd/cli":                          {"internal/atomicfile", "internal/interrupt", "internal/progress", "internal/safetext", "internal/storage", "pipeline/exitcode", "pipeline/stage"},
	"cmd/pipe":                         {"bench", "cloud", "cmd/cli", "costs", "costs/grow", "experts/builder", "experts/chat", "featurize", "featurize/pixel", "internal/atomicfile", "internal/config", "internal/storage", "internal/textfile", "internal/world", "models", "models/policy", "models/risk", "onnx/ort", "pipeline/calibrate", "pipeline/compare", "pipeline/convert", "pipeline/costing", "pipeline/decide", "pipeline/demo", "pipeline/eval", "pipeline/exitcode", "pipeline/features", "pipeline/fromlog", "pipeline/gate", "pipeline/imports", "pipeline/index", "pipeline/inspect", "pipeline/learn", "pipeline/merge", "pipeline/monitor", "pipeline/ope", "pipeline/play", "pipeline/propose", "pipeline/sharded", "pipeline/shards", "pipeline/stage", "pipeline/train", "serve"},
	"cmd/pipe-beam":                    {"cloud", "cmd/cli", "cmd/pipe-beam/engine", "cmd/pipe-beam/job", "internal/config", "internal/storage", "internal/textfile", "onnx/ort", "pipeline/costing", "pipeline/decide", "pipeline/exitcode", "pipeline/features", "pipeline/inspect", "pipeline/sharded", "pipeline/shards", "pipeline/train"},
	"cmd/pipe-beam/engine":             {},
	"cmd/pipe-beam/job":                {"cmd/pipe-beam/engine", "experts/chat", "internal/atomicfile", "internal/progress", "internal/storage", "onnx/ort", "pipeline/costing", "pipeline/decide", "pipeline/exitcode", "pipeline/features", "pipeline/sharded", "pipeline/shards", "pipeline/stage", "pipeline/train"},
	"cmd/pipe-beam/scaletest":          {},
	"costs":                            {"internal/atomicfile", "internal/column", "internal/dataerror", "internal/digest", "internal/finite", "internal/parallel", "internal/parquetfile", "internal/storage", "internal/strictjson", "internal/textfile"},
	"costs/coststest":                  {"costs"},
	"costs/grade":                      {"costs/prompt", "internal/config", "internal/strictjson", "internal/textfile"},
	"costs/grow":                       {"costs", "internal/digest", "internal/lists", "internal/parquetfile", "internal/progress", "internal/storage", "internal/strictjson", "internal/textfile"},
	"costs/identity":                   {"costs", "featurize", "featurize/tabular", "internal/digest"},
	"costs/observe":                    {"costs", "costs/grade"},
	"costs/outcome":                    {"costs", "costs/grade", "costs/observe", "costs/prices", "internal/config", "internal/dataerror", "internal/digest", "internal/parquetfile", "internal/storage", "internal/strictjson", "internal/tablefile", "internal/textfile"},
	"costs/outcome/look":               {"internal/dataerror", "internal/hint", "internal/storage", "internal/tablefile", "internal/textfile"},
	"costs/prices":                     {"costs", "internal/config", "internal/dataerror", "internal/digest", "internal/storage", "internal/textfile"},
	"costs/prompt":                     {"internal/outside", "internal/textfile"},
	"docs":                             {},
	"examples/go":                      {"models/policy", "onnx/ort", "pipeline/decide"},
	"experts/advice":                   {"costs", "experts/builder/part", "experts/fields", "experts/retrieval", "featurize/pixel", "internal/dataerror", "internal/outside", "internal/storage", "internal/textfile"},
	"experts/builder":                  {"costs", "costs/grow", "costs/identity", "costs/observe", "costs/prices", "experts/advice", "experts/builder/part", "experts/chat", "experts/retrieval", "featurize/pixel", "internal/atomicfile", "internal/dataerror", "internal/digest", "internal/filelock", "internal/parallel", "internal/progress", "internal/storage", "internal/strictjson", "internal/textfile", "onnx/ort"},
	"experts/builder/part":             {"costs", "costs/observe", "experts/retrieval/pagename", "featurize/pixel", "featurize/tabular", "internal/config", "internal/digest", "internal/progress", "internal/safetext", "internal/storage", "internal/tablefile", "internal/textfile", "onnx", "onnx/ort"},
	"experts/builder/parttest":         {"costs", "experts/builder/part", "featurize/tabular", "internal/digest", "internal/judge", "internal/storage", "internal/textfile", "onnx", "onnx/hf/hftest"},
	"experts/chat":                     {"costs", "costs/observe", "costs/prices", "experts/builder/part", "experts/fields", "experts/language", "experts/service", "internal/allowance", "internal/atomicfile", "internal/digest", "internal/filelock", "internal/hint", "internal/parallel", "internal/safetext", "internal/storage", "internal/strictjson", "internal/textfile"},
	"experts/chat/chattest":            {},
	"experts/classlist":                {"costs", "experts/builder/part", "internal/dataerror", "internal/storage", "internal/textfile"},
	"experts/embedding":                {"experts/builder/part", "featurize", "internal/digest", "internal/filelock", "internal/parallel", "onnx/ort"},
	"experts/expert":                   {"costs", "costs/grade", "costs/observe", "costs/prompt", "experts/builder/part", "experts/chat", "experts/classlist", "experts/embedding", "experts/fields", "experts/language", "featurize", "featurize/pixel", "featurize/tokenizer", "internal/atomicfile", "internal/digest", "internal/parallel", "internal/storage", "internal/textfile", "onnx", "onnx/hf", "onnx/ort", "onnx/rewrite"},
	"experts/expert/trained":           {"costs", "experts/builder/part", "experts/classlist", "experts/embedding", "experts/expert", "experts/retrieval", "experts/retrieval/bm25", "experts/retrieval/pagename", "featurize/tabular", "internal/atomicfile", "internal/digest", "internal/parallel", "internal/storage", "internal/textfile", "models", "models/lightgbm", "models/network", "onnx", "onnx/ort"},
	"experts/feature":                  {"costs", "costs/identity", "experts/builder/part", "experts/embedding", "featurize", "featurize/pixel", "internal/storage", "internal/textfile"},
	"experts/fields":                   {"internal/config"},
	"experts/grading":                  {"costs", "costs/grade", "experts/builder/part", "experts/chat", "experts/language", "featurize/tokenizer"},
	"experts/kinds":                    {"costs", "costs/grade", "experts/advice", "experts/builder/part", "experts/expert", "experts/expert/trained", "experts/feature", "experts/grading", "experts/source", "internal/textfile"},
	"experts/language":                 {"costs", "costs/grade", "experts/builder/part", "featurize/tokenizer", "internal/dataerror", "internal/storage", "internal/strictjson", "internal/textfile", "onnx", "onnx/hf", "onnx/ort", "onnx/rewrite"},
	"experts/language/languagetest":    {"onnx"},
	"experts/retrieval":                {"costs/grade", "experts/builder/part", "experts/chat", "experts/language", "experts/retrieval/bm25", "experts/retrieval/search", "experts/service", "internal/atomicfile", "internal/digest", "internal/parallel", "internal/storage"},
	"experts/retrieval/bm25":           {"experts/retrieval/pagename", "internal/atomicfile", "internal/dataerror", "internal/digest", "internal/progress", "internal/storage", "internal/strictjson", "internal/textfile"},
	"experts/retrieval/pagename":       {},
	"experts/retrieval/search":         {"experts/builder/part", "experts/service", "internal/parallel"},
	"experts/service":                  {"experts/builder/part", "internal/textfile"},
	"experts/service/servicetest":      {},
	"experts/source":                   {"costs", "costs/grade", "experts/builder/part", "experts/classlist", "featurize/pixel", "featurize/tabular", "internal/atomicfile", "internal/dataerror", "internal/digest", "internal/filelock", "internal/parallel", "internal/storage", "internal/strictjson", "internal/tablefile", "internal/textfile"},
	"featurize":                        {"featurize/pixel", "featurize/tokenizer", "internal/dataerror", "internal/digest", "internal/outside", "internal/parallel", "internal/storage", "internal/strictjson", "internal/textfile", "onnx", "onnx/hf", "onnx/ort", "onnx/rewrite"},
	"featurize/jpegturbo":              {"internal/sharedlib"},
	"featurize/lexical":                {"featurize/tokenizer", "internal/config", "internal/parallel", "internal/seeded", "onnx", "onnx/hf"},
	"featurize/pixel":                  {"featurize/jpegturbo", "internal/outside", "internal/storage", "internal/strictjson", "internal/textfile"},
	"featurize/tabular":                {"internal/atomicfile", "internal/column", "internal/dataerror", "internal/digest", "internal/parallel", "internal/parquetfile", "internal/parquetjoin", "internal/storage", "internal/strictjson", "internal/textfile"},
	"featurize/tokenizer":              {"internal/digest", "internal/outside", "internal/strictjson", "internal/textfile"},
	"internal/allowance":               {"internal/dataerror", "internal/storage"},
	"internal/atomicfile":              {"internal/filelock", "internal/storage"},
	"internal/column":                  {"internal/dataerror", "internal/parquetfile"},
	"internal/config":                  {"internal/outside", "internal/storage", "internal/textfile"},
	"internal/dataerror":               {"internal/outside", "internal/textfile"},
	"internal/dataerror/dataerrortest": {"internal/dataerror"},
	"internal/digest":                  {},
	"internal/filelock":                {},
	"internal/finite":                  {},
	"internal/fuzztest":                {"internal/dataerror"},
	"internal/hint":                    {},
	"internal/interrupt":               {},
	"internal/judge":                   {"internal/realdata"},
	"internal/lists":                   {},
	"internal/outside":                 {},
	"internal/parallel":                {},
	"internal/parquetfile":             {"internal/dataerror", "internal/storage", "internal/textfile"},
	"internal/parquetjoin":             {},
	"internal/progress":                {"internal/safetext"},
	"internal/realdata":                {},
	"internal/safetext":                {},
	"internal/seeded":                  {},
	"internal/sharedlib":               {},
	"internal/sharedlib/sharedlibtest": {},
	"internal/storage":                 {},
	"internal/storage/storagetest":     {"internal/storage"},
	"internal/strictjson":              {"internal/textfile"},
	"internal/tablefile":               {"internal/column", "internal/dataerror", "internal/finite", "internal/outside", "internal/parquetfile", "internal/storage", "internal/strictjson", "internal/textfile"},
	"internal/textfile":                {"internal/storage"},
	"internal/world":                   {"costs", "internal/atomicfile", "internal/digest", "internal/parallel", "internal/safetext", "internal/storage", "pipeline/stage"},
	"location":                         {"internal/storage"},
	"models":                           {"costs", "internal/atomicfile", "internal/finite", "internal/parallel", "internal/seeded", "internal/textfile", "models/network", "models/policy", "onnx", "onnx/ort"},
	"models/auto":                      {"costs", "internal/seeded", "models", "models/estimate", "models/lightgbm", "models/network", "models/policy", "models/regress", "onnx/ort"},
	"models/baseline":                  {"costs", "internal/seeded", "models/network", "models/regress", "onnx/ort"},
	"models/cascade":                   {"costs", "internal/finite", "models/policy", "onnx", "onnx/ort"},
	"models/cascade/cascadetest":       {"costs", "models/cascade", "models/estimate", "models/network", "models/policy", "onnx"},
	"models/cascade/fit":               {"costs", "internal/seeded", "models", "models/auto", "models/cascade", "models/policy", "onnx/ort"},
	"models/drift":                     {"internal/seeded"},
	"models/estimate":                  {"internal/finite", "models/network", "onnx"},
	"models/lightgbm":                  {"internal/finite", "internal/sharedlib", "models/estimate", "onnx"},
	"models/lightgbm/lightgbmtest":     {"models/lightgbm"},
	"models/network":                   {"internal/finite", "onnx"},
	"models/offpolicy":                 {"costs", "internal/dataerror", "internal/finite", "internal/seeded", "models", "models/network", "models/offpolicy/anytime", "models/regress"},
	"models/offpolicy/anytime":         {},
	"models/paper":                     {"costs", "internal/config", "models", "models/network", "models/policy"},
	"models/policy":                    {"costs", "internal/finite", "internal/hint", "internal/strictjson", "internal/textfile", "models/estimate", "models/network", "onnx", "onnx/ort", "onnx/rewrite"},
	"models/regress":                   {"costs", "internal/parallel", "internal/seeded", "models", "models/estimate", "models/lightgbm", "models/network", "models/policy", "onnx", "onnx/ort"},
	"models/risk":                      {},
	"onnx":                             {"internal/atomicfile", "internal/outside", "internal/strictjson", "internal/textfile", "onnx/internal/protos", "onnx/onnxpb"},
	"onnx/hf":                          {"internal/storage", "internal/strictjson", "internal/textfile", "onnx", "onnx/rewrite"},
	"onnx/hf/hftest":                   {"onnx"},
	"onnx/internal/conform":            {"internal/lists", "onnx"},
	"onnx/internal/onnxtest":           {"onnx"},
	"onnx/internal/protos":             {"onnx/onnxpb"},
	"onnx/onnxpb":                      {},
	"onnx/ort":                         {"internal/lists", "internal/sharedlib", "internal/textfile", "onnx"},
	"onnx/ort/orttest":                 {"onnx", "onnx/ort"},
	"onnx/rewrite":                     {"onnx", "onnx/internal/protos", "onnx/onnxpb"},
	"pipeline":                         {},
	"pipeline/calibrate":               {"costs", "internal/safetext", "internal/seeded", "internal/storage", "models/cascade", "models/policy", "models/risk", "onnx", "onnx/ort", "pipeline/decide", "pipeline/replay", "pipeline/stage"},
	"pipeline/compare":                 {"costs", "costs/grow", "internal/atomicfile", "internal/dataerror", "internal/safetext", "internal/storage", "internal/textfile", "pipeline/methods", "pipeline/report", "pipeline/report/page", "pipeline/stage"},
	"pipeline/convert":                 {"experts/builder/part", "featurize", "featurize/pixel", "internal/atomicfile", "internal/safetext", "internal/storage", "models/cascade", "models/policy", "onnx", "onnx/hf", "pipeline/decide", "pipeline/inspect", "pipeline/stage"},
	"pipeline/costing":                 {"costs", "experts/builder", "experts/builder/part", "experts/chat", "experts/kinds", "internal/config", "internal/safetext", "internal/storage", "onnx/ort", "pipeline/stage"},
	"pipeline/decide":                  {"costs", "costs/identity", "costs/prices", "featurize", "featurize/pixel", "featurize/tabular", "internal/atomicfile", "internal/dataerror", "internal/hint", "internal/parquetfile", "internal/parquetjoin", "internal/safetext", "internal/storage", "internal/strictjson", "internal/textfile", "models/cascade", "models/policy", "onnx", "onnx/ort", "onnx/rewrite", "pipeline/shards", "pipeline/stage"},
	"pipeline/decide/decidetest":       {"costs", "featurize", "featurize/pixel", "models/estimate", "models/network", "models/policy", "onnx", "onnx/ort"},
	"pipeline/decisionlog":             {"costs", "internal/atomicfile", "internal/column", "internal/dataerror", "internal/digest", "internal/filelock", "internal/finite", "internal/parquetfile"},
	"pipeline/demo":                    {"costs", "internal/atomicfile", "internal/safetext", "internal/seeded", "internal/storage", "onnx/ort", "pipeline/eval", "pipeline/imports", "pipeline/report", "pipeline/stage", "pipeline/train"},
	"pipeline/eval":                    {"costs", "costs/prices", "experts/builder", "featurize/pixel", "internal/hint", "internal/storage", "internal/tablefile", "models", "models/auto", "models/baseline", "models/cascade", "models/policy", "onnx/ort", "pipeline/costing", "pipeline/decide", "pipeline/findings", "pipeline/methods", "pipeline/play", "pipeline/replay", "pipeline/report", "pipeline/report/figure", "pipeline/stage"},
	"pipeline/exitcode":                {"costs", "experts/builder", "experts/builder/part", "experts/chat", "experts/retrieval/bm25", "experts/service", "featurize/jpegturbo", "featurize/tokenizer", "internal/config", "internal/outside", "internal/textfile", "models/lightgbm", "onnx/hf", "onnx/ort", "pipeline/stage"},
	"pipeline/features":                {"costs", "featurize", "featurize/lexical", "featurize/tabular", "internal/atomicfile", "internal/config", "internal/lists", "internal/safetext", "internal/storage", "internal/tablefile", "internal/textfile", "pipeline/stage"},
	"pipeline/findings":                {"costs", "models", "models/auto", "pipeline/methods", "pipeline/report"},
	"pipeline/fromlog":                 {"costs", "costs/prices", "internal/atomicfile", "internal/hint", "internal/safetext", "internal/storage", "pipeline/decisionlog", "pipeline/stage"},
	"pipeline/gate":                    {"costs", "internal/dataerror", "models/offpolicy/anytime", "pipeline/decisionlog"},
	"pipeline/imports":                 {"costs", "costs/grade", "costs/grow", "costs/identity", "costs/outcome", "costs/prices", "experts/builder", "experts/builder/part", "experts/chat", "experts/embedding", "experts/grading", "featurize", "featurize/pixel", "internal/atomicfile", "internal/config", "internal/digest", "internal/filelock", "internal/parallel", "internal/safetext", "internal/storage", "internal/textfile", "onnx/hf", "onnx/ort", "pipeline/decisionlog", "pipeline/fromlog", "pipeline/merge", "pipeline/stage", "pipeline/textlog"},
	"pipeline/index":                   {"costs", "experts/retrieval/bm25", "internal/atomicfile", "internal/safetext", "internal/storage", "pipeline/inspect", "pipeline/stage"},
	"pipeline/inspect":                 {"costs", "experts/retrieval/bm25", "experts/retrieval/pagename", "featurize", "featurize/jpegturbo", "featurize/pixel", "featurize/tabular", "internal/dataerror", "internal/safetext", "internal/storage", "internal/textfile", "models", "models/cascade", "models/lightgbm", "models/policy", "onnx", "onnx/hf", "onnx/ort", "pipeline/decide", "pipeline/decisionlog", "pipeline/report", "pipeline/stage"},
	"pipeline/learn":                   {"costs", "internal/atomicfile", "internal/config", "internal/safetext", "internal/storage", "internal/textfile", "models/auto", "models/policy", "onnx/ort", "pipeline/decide", "pipeline/decisionlog", "pipeline/fromlog", "pipeline/gate", "pipeline/ope", "pipeline/report/page", "pipeline/stage", "pipeline/train"},
	"pipeline/learn/learntest":         {"costs", "internal/storage", "models/policy", "onnx/ort", "pipeline/decide", "pipeline/decisionlog"},
	"pipeline/merge":                   {"costs/grow", "internal/atomicfile", "internal/safetext", "internal/storage", "pipeline/stage"},
	"pipeline/methods":                 {"models", "models/auto", "models/baseline"},
	"pipeline/monitor":                 {"costs", "internal/atomicfile", "internal/digest", "internal/finite", "internal/parallel", "internal/parquetfile", "internal/safetext", "internal/seeded", "internal/storage", "internal/strictjson", "internal/tablefile", "internal/textfile", "models/cascade", "models/drift", "models/policy", "onnx/ort", "pipeline/decide", "pipeline/decisionlog", "pipeline/play", "pipeline/report/figure", "pipeline/report/page", "pipeline/stage"},
	"pipeline/ope":                     {"costs", "costs/prices", "internal/atomicfile", "internal/hint", "internal/safetext", "internal/storage", "models", "models/drift", "models/offpolicy", "models/offpolicy/anytime", "models/policy", "models/regress", "onnx/ort", "pipeline/decide", "pipeline/decisionlog", "pipeline/fromlog", "pipeline/report/page", "pipeline/stage"},
	"pipeline/play":                    {"costs", "internal/atomicfile", "internal/storage", "models/cascade", "models/policy", "onnx/ort", "pipeline/decide", "pipeline/stage"},
	"pipeline/propose":                 {"costs", "costs/outcome", "costs/outcome/look", "internal/atomicfile", "internal/config", "internal/hint", "internal/safetext", "internal/storage", "internal/textfile", "pipeline/decisionlog", "pipeline/stage"},
	"pipeline/replay":                  {"costs", "internal/storage", "models", "models/policy", "onnx/ort", "pipeline/decide", "pipeline/methods"},
	"pipeline/report":                  {"costs", "experts/builder", "experts/builder/part", "experts/retrieval", "internal/atomicfile", "internal/lists", "internal/safetext", "internal/storage", "models", "models/baseline", "models/policy", "pipeline/methods", "pipeline/report/figure", "pipeline/report/page"},
	"pipeline/report/figure":           {"internal/atomicfile", "internal/lists", "internal/safetext", "internal/storage"},
	"pipeline/report/page":             {"internal/safetext", "pipeline/report/figure"},
	"pipeline/sharded":                 {"costs", "costs/outcome", "experts/builder", "experts/builder/part", "experts/chat", "experts/retrieval/bm25", "experts/service", "featurize/tabular", "internal/atomicfile", "internal/parquetjoin", "internal/progress", "internal/storage", "pipeline/costing", "pipeline/features", "pipeline/imports", "pipeline/index", "pipeline/shards", "pipeline/stage"},
	"pipeline/shards":                  {"internal/atomicfile", "internal/dataerror", "internal/digest", "internal/hint", "internal/parallel", "internal/progress", "internal/safetext", "internal/storage"},
	"pipeline/stage":                   {"costs", "internal/atomicfile", "internal/config", "internal/dataerror", "internal/digest", "internal/filelock", "internal/outside", "internal/progress", "internal/safetext", "internal/storage", "internal/textfile", "onnx", "onnx/hf"},
	"pipeline/textlog":                 {"internal/config", "pipeline/decisionlog"},
	"pipeline/train":                   {"costs", "costs/outcome", "costs/prices", "internal/atomicfile", "internal/config", "internal/digest", "internal/safetext", "internal/storage", "internal/textfile", "models", "models/auto", "models/cascade", "models/cascade/fit", "models/paper", "models/policy", "onnx", "onnx/ort", "pipeline/calibrate", "pipeline/decide", "pipeline/fromlog", "pipeline/methods", "pipeline/replay", "pipeline/report", "pipeline/shards", "pipeline/stage"},
	"serve":                            {"internal/atomicfile", "internal/config", "internal/filelock", "internal/storage", "models/policy", "onnx/ort", "pipeline/decisionlog", "pipeline/gate", "pipeline/monitor", "pipeline/textlog", "serve/access", "serve/budget", "serve/dashboard", "serve/decideapi", "serve/decision", "serve/gateway", "serve/ledger", "serve/metrics", "serve/oip", "serve/people", "serve/policies", "serve/telemetry", "serve/trials"},
	"serve/access":                     {"internal/atomicfile", "internal/config", "internal/storage", "internal/textfile", "serve/metrics"},
	"serve/budget":                     {"internal/atomicfile", "internal/config", "internal/storage", "serve/ledger"},
	"serve/dashboard":                  {"costs", "internal/safetext", "internal/strictjson", "models/offpolicy/anytime", "models/policy", "pipeline/decide", "pipeline/decisionlog", "pipeline/report/figure", "pipeline/report/page", "serve/budget", "serve/ledger", "serve/policies"},
	"serve/decideapi":                  {"costs", "internal/strictjson", "internal/textfile", "models/cascade", "models/policy", "onnx/ort", "pipeline/decide", "pipeline/decisionlog", "serve/access", "serve/decision", "serve/policies"},
	"serve/decision":                   {"costs", "internal/atomicfile", "internal/config", "internal/strictjson", "internal/textfile", "models/policy", "pipeline/decide", "pipeline/decisionlog", "pipeline/gate", "serve/ledger", "serve/metrics", "serve/policies", "serve/telemetry"},
	"serve/gateway":                    {"costs", "costs/grade", "costs/observe", "experts/fields", "internal/config", "models/cascade", "models/policy", "pipeline/decide", "pipeline/decisionlog", "serve/access", "serve/budget", "serve/decideapi", "serve/decision", "serve/gateway/abstain", "serve/gateway/advice", "serve/gateway/capability", "serve/gateway/chatjson", "serve/gateway/expert", "serve/gateway/panels", "serve/gateway/patience", "serve/gateway/protocol", "serve/gateway/protocol/middle", "serve/gateway/responses", "serve/gateway/session", "serve/gateway/stages", "serve/gateway/wishes", "serve/ledger", "serve/metrics", "serve/people", "serve/policies", "serve/telemetry"},
	"serve/gateway/abstain":            {"internal/config", "models/policy", "serve/gateway/protocol", "serve/gateway/protocol/middle"},
	"serve/gateway/advice":             {"costs/prompt", "experts/fields", "experts/retrieval/bm25", "experts/retrieval/pagename", "experts/retrieval/search", "experts/service", "internal/config", "internal/textfile", "serve/gateway/chatjson"},
	"serve/gateway/capability":         {"costs/prices", "serve/gateway/protocol/middle"},
	"serve/gateway/chatjson":           {"costs/prices", "experts/fields", "internal/strictjson", "serve/gateway/jsonedit"},
	"serve/gateway/expert":             {"costs/prices", "experts/fields", "experts/service", "internal/config", "internal/storage", "serve/gateway/chatjson", "serve/gateway/jsonedit", "serve/gateway/patience", "serve/gateway/protocol", "serve/gateway/protocol/middle", "serve/gateway/sse"},
	"serve/gateway/gatewaytest":        {},
	"serve/gateway/jsonedit":           {"internal/strictjson"},
	"serve/gateway/panels":             {"costs/grade", "internal/config", "serve/gateway/protocol", "serve/ledger"},
	"serve/gateway/patience":           {"internal/atomicfile", "internal/config", "internal/strictjson", "serve/metrics"},
	"serve/gateway/protocol":           {"costs/prices", "experts/fields", "experts/service", "serve/gateway/chatjson", "serve/gateway/jsonedit", "serve/gateway/protocol/middle", "serve/gateway/protocol/services", "serve/gateway/sse"},
	"serve/gateway/protocol/middle":    {"costs/prices", "serve/gateway/jsonedit", "serve/gateway/sse"},
	"serve/gateway/protocol/services":  {"serve/gateway/jsonedit", "serve/gateway/protocol/middle", "serve/gateway/sse"},
	"serve/gateway/responses":          {"internal/config"},
	"serve/gateway/session":            {"internal/atomicfile", "internal/config"},
	"serve/gateway/sse":                {},
	"serve/gateway/stages":             {"costs", "costs/observe", "models/cascade", "serve/gateway/protocol", "serve/gateway/protocol/middle"},
	"serve/gateway/wishes":             {"costs", "models/policy", "serve/decideapi", "serve/decision"},
	"serve/ledger":                     {"internal/allowance", "internal/atomicfile", "internal/storage", "internal/strictjson"},
	"serve/metrics":                    {"pipeline/decisionlog", "serve/budget", "serve/ledger"},
	"serve/oip":                        {"internal/strictjson", "internal/textfile", "models/policy", "onnx", "pipeline/decide", "serve/access", "serve/decision", "serve/metrics", "serve/oip/inferencepb", "serve/policies"},
	"serve/oip/inferencepb":            {},
	"serve/people":                     {"costs", "internal/atomicfile", "internal/config", "internal/filelock", "internal/strictjson", "models/policy", "pipeline/report/page", "serve/access", "serve/people/hours"},
	"serve/people/hours":               {"internal/config"},
	"serve/policies":                   {"costs", "costs/prices", "featurize/pixel", "internal/atomicfile", "internal/digest", "internal/finite", "internal/hint", "internal/parallel", "internal/storage", "internal/textfile", "models/cascade", "models/estimate", "models/network", "models/policy", "onnx", "onnx/ort", "pipeline/decide", "serve/metrics"},
	"serve/policies/policiestest":      {"costs", "featurize", "internal/storage", "models/cascade", "models/estimate", "models/network", "models/policy", "pipeline/decide"},
	"serve/telemetry":                  {"experts/service", "internal/config"},
	"serve/telemetry/telemetrytest":    {},
	"serve/trials":                     {"internal/atomicfile", "internal/strictjson", "models/offpolicy/anytime", "models/policy", "pipeline/decisionlog", "pipeline/gate", "serve/decision", "serve/ledger", "serve/policies"},
	"tools":                            {},
	"tools/dist":                       {"internal/atomicfile", "tools/dist/archive", "tools/dist/debian", "tools/dist/npm", "tools/dist/sbom", "tools/dist/tree", "tools/dist/wheel"},
	"tools/dist/archive":               {"tools/dist/tree"},
	"tools/dist/debian":                {"tools/dist/tree"},
	"tools/dist/image":                 {},
	"tools/dist/npm":                   {},
	"tools/dist/sbom":                  {},
	"tools/dist/tree":                  {},
	"tools/dist/wheel":                 {},
	"tools/fetch":                      {},
	"tools/flink":                      {"tools/flink/cluster"},
	"tools/flink/cluster":              {},
	"tools/load":                       {},
	"tools/outside/expert":             {"experts/builder/part", "location", "onnx/ort", "pipeline/costing", "pipeline/stage"},
	"tools/outside/router":             {"pipeline/decide"},
	"tools/outside/surrogate":          {"location", "models", "models/paper", "models/policy", "onnx", "pipeline/stage", "pipeline/train"},
	"tools/serve/constant":             {},
	"tools/serve/policy":               {"pipeline/decide/decidetest"},
	"tools/notebook":                   {"internal/atomicfile", "tools/notebook/page"},
	"tools/notebook/page":              {},
	"tools/site":                       {},
	"tools/week":                       {"pipeline/learn/learntest"},
}

// testsMayImport lists imports that are allowed only in _test.go files.
var testsMayImport = map[string][]string{
	"bench":                    {"internal/realdata", "models/estimate", "models/lightgbm/lightgbmtest", "onnx", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/costing"},
	"cloud":                    {"cloud/cloudtest", "internal/storage/storagetest"},
	"cmd/cli":                  {"costs", "experts/builder", "experts/chat", "experts/service", "internal/config", "onnx/ort"},
	"cmd/pipe":                 {"cloud/cloudtest", "costs/coststest", "experts/chat/chattest", "experts/service", "internal/judge", "internal/storage/storagetest", "models/estimate", "models/network", "onnx", "onnx/hf/hftest", "pipeline/decide/decidetest", "pipeline/decisionlog", "pipeline/learn/learntest", "pipeline/report", "pipeline/textlog"},
	"cmd/pipe-beam/job":        {"costs", "internal/storage/storagetest"},
	"cmd/pipe-beam/scaletest":  {"cloud", "cloud/cloudtest", "cmd/pipe-beam/job", "experts/chat/chattest", "internal/storage", "internal/storage/storagetest", "pipeline/exitcode", "pipeline/shards", "pipeline/train", "tools/flink/cluster"},
	"costs":                    {"internal/dataerror/dataerrortest", "internal/judge", "internal/realdata", "internal/tablefile"},
	"costs/grade":              {"internal/judge"},
	"costs/grow":               {"internal/fuzztest", "internal/judge"},
	"costs/outcome":            {"internal/dataerror/dataerrortest", "internal/judge", "internal/realdata"},
	"costs/outcome/look":       {"costs/outcome", "internal/config", "internal/judge", "internal/realdata"},
	"costs/prices":             {"internal/dataerror/dataerrortest"},
	"docs":                     {"internal/judge", "internal/realdata", "onnx/ort/orttest", "tools/notebook/page"},
	"experts/advice":           {"experts/builder/parttest", "internal/progress", "internal/realdata"},
	"experts/builder":          {"experts/builder/parttest", "experts/chat/chattest", "experts/expert", "experts/kinds", "experts/language/languagetest", "experts/retrieval/bm25", "experts/service", "experts/service/servicetest", "featurize", "featurize/tabular", "internal/config", "internal/fuzztest", "internal/realdata", "models/lightgbm", "onnx", "onnx/hf/hftest", "onnx/ort/orttest"},
	"experts/chat":             {"experts/chat/chattest", "experts/service/servicetest", "internal/fuzztest", "internal/progress", "internal/realdata", "onnx/ort", "onnx/ort/orttest"},
	"experts/classlist":        {"experts/builder/parttest", "internal/fuzztest", "internal/realdata"},
	"experts/embedding":        {"experts/builder/parttest", "internal/fuzztest", "internal/progress", "onnx/ort"},
	"experts/expert":           {"experts/advice", "experts/builder/parttest", "experts/language/languagetest", "experts/source", "internal/fuzztest", "internal/judge", "internal/progress", "internal/realdata", "onnx/ort/orttest"},
	"experts/expert/trained":   {"experts/advice", "experts/builder/parttest", "experts/source", "internal/fuzztest", "internal/progress", "onnx/ort/orttest"},
	"experts/feature":          {"experts/builder/parttest", "internal/fuzztest", "internal/progress", "onnx", "onnx/ort", "onnx/ort/orttest"},
	"experts/grading":          {"experts/chat/chattest", "experts/language/languagetest", "internal/progress", "internal/realdata", "onnx/ort", "onnx/ort/orttest"},
	"experts/language":         {"experts/language/languagetest", "internal/fuzztest", "internal/progress", "internal/realdata", "onnx/ort/orttest"},
	"experts/retrieval":        {"experts/chat/chattest", "experts/service/servicetest", "internal/progress", "internal/realdata", "onnx/ort", "onnx/ort/orttest"},
	"experts/retrieval/bm25":   {"internal/judge", "internal/realdata"},
	"experts/retrieval/search": {"experts/service/servicetest", "internal/progress"},
	"experts/service":          {"experts/service/servicetest"},
	"experts/source":           {"experts/builder/parttest", "internal/fuzztest", "internal/progress", "internal/realdata"},
	"featurize":                {"internal/judge", "internal/realdata", "onnx/hf/hftest", "onnx/ort/orttest"},
	"featurize/jpegturbo":      {"internal/sharedlib/sharedlibtest"},
	"featurize/lexical":        {"internal/judge", "internal/realdata", "onnx/ort", "onnx/ort/orttest"},
	"featurize/pixel":          {"internal/judge", "internal/realdata"},
	"featurize/tabular":        {"internal/judge", "internal/realdata"},
	"featurize/tokenizer":      {"internal/judge", "internal/realdata"},
	"internal/parquetfile":     {"internal/storage", "internal/storage/storagetest"},
	"internal/storage":         {"internal/storage/storagetest"},
	"internal/tablefile":       {"internal/judge", "internal/storage/storagetest"},
	"internal/world":           {"featurize/tabular", "internal/config", "internal/realdata"},
	"models":                   {"costs/coststest", "onnx/ort/orttest"},
	"models/auto":              {"costs/coststest", "internal/judge", "internal/storage", "models/lightgbm/lightgbmtest", "onnx/ort/orttest"},
	"models/baseline":          {"costs/coststest", "costs/outcome", "internal/realdata", "onnx/ort/orttest"},
	"models/cascade":           {"internal/judge", "models/estimate", "models/network", "onnx/ort/orttest"},
	"models/cascade/fit":       {"costs/coststest", "internal/realdata", "models/lightgbm/lightgbmtest", "onnx/ort/orttest"},
	"models/drift":             {"internal/judge"},
	"models/estimate":          {"onnx/ort", "onnx/ort/orttest"},
	"models/lightgbm":          {"internal/judge", "internal/realdata", "internal/sharedlib/sharedlibtest", "onnx/ort", "onnx/ort/orttest"},
	"models/network":           {"onnx/ort/orttest"},
	"models/offpolicy":         {"internal/judge", "onnx/ort/orttest"},
	"models/paper":             {"onnx", "onnx/ort", "onnx/ort/orttest"},
	"models/policy":            {"costs/coststest", "internal/judge", "onnx/ort/orttest"},
	"models/regress":           {"costs/coststest", "models/lightgbm/lightgbmtest", "onnx/ort/orttest"},
	"models/risk":              {"internal/judge"},
	"onnx":                     {"internal/judge", "internal/realdata", "onnx/internal/conform", "onnx/internal/onnxtest", "onnx/ort/orttest", "onnx/rewrite"},
	"onnx/hf":                  {"internal/judge", "internal/realdata", "onnx/hf/hftest", "onnx/ort", "onnx/ort/orttest"},
	"onnx/ort":                 {"internal/sharedlib/sharedlibtest", "onnx/internal/conform"},
	"onnx/rewrite":             {"internal/judge", "internal/realdata", "onnx/internal/onnxtest", "onnx/ort/orttest"},
	"pipeline":                 {"costs", "costs/coststest", "internal/atomicfile", "internal/realdata", "internal/storage", "internal/world", "models", "models/auto", "models/cascade", "models/cascade/fit", "models/paper", "models/policy", "models/risk", "onnx", "onnx/ort", "onnx/ort/orttest", "pipeline/calibrate", "pipeline/costing", "pipeline/decide/decidetest", "pipeline/eval", "pipeline/findings", "pipeline/imports", "pipeline/replay", "pipeline/report", "pipeline/stage", "pipeline/train"},
	"pipeline/calibrate":       {"costs/coststest", "models/cascade/cascadetest", "onnx/ort/orttest", "pipeline/decide/decidetest"},
	"pipeline/convert":         {"costs", "costs/coststest", "costs/identity", "featurize/tokenizer", "internal/judge", "internal/realdata", "models/cascade/cascadetest", "onnx/hf/hftest", "onnx/ort", "onnx/ort/orttest", "pipeline/decide/decidetest", "pipeline/eval", "pipeline/train"},
	"pipeline/costing":         {"experts/chat/chattest", "experts/retrieval/bm25"},
	"pipeline/decide":          {"featurize/tokenizer", "internal/storage/storagetest", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/decide/decidetest"},
	"pipeline/decisionlog":     {"internal/judge"},
	"pipeline/eval":            {"costs/coststest", "internal/world", "models/cascade", "models/cascade/cascadetest", "models/network", "models/regress", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/convert", "pipeline/decide", "pipeline/decide/decidetest", "pipeline/inspect"},
	"pipeline/features":        {"onnx/ort/orttest"},
	"pipeline/findings":        {"internal/judge"},
	"pipeline/fromlog":         {"internal/judge"},
	"pipeline/gate":            {"internal/dataerror/dataerrortest"},
	"pipeline/imports":         {"experts/chat/chattest", "internal/judge", "internal/realdata", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/costing", "pipeline/decide/decidetest"},
	"pipeline/index":           {"internal/world"},
	"pipeline/inspect":         {"costs/coststest", "models/cascade/cascadetest", "pipeline/decide/decidetest"},
	"pipeline/learn":           {"models/offpolicy", "onnx/ort/orttest", "pipeline/learn/learntest"},
	"pipeline/monitor":         {"costs/coststest", "internal/fuzztest", "models/cascade/cascadetest", "onnx", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/decide/decidetest"},
	"pipeline/ope":             {"internal/judge"},
	"pipeline/play":            {"costs/coststest", "models/cascade/cascadetest", "onnx/ort/orttest"},
	"pipeline/report/page":     {"internal/judge"},
	"pipeline/sharded":         {"internal/digest", "internal/world"},
	"pipeline/shards":          {"internal/storage/storagetest"},
	"pipeline/train":           {"costs/coststest", "internal/world", "models/lightgbm", "models/lightgbm/lightgbmtest", "onnx/ort/orttest", "pipeline/decisionlog", "pipeline/eval"},
	"serve":                    {"costs", "experts/service", "models/estimate", "models/network", "models/policy", "onnx/ort/orttest", "pipeline/decide/decidetest", "serve/gateway/expert", "serve/gateway/gatewaytest", "serve/gateway/panels", "serve/oip/inferencepb", "serve/policies/policiestest", "serve/telemetry/telemetrytest"},
	"serve/dashboard":          {"internal/judge", "onnx/ort/orttest", "pipeline/decide/decidetest", "serve/decision"},
	"serve/decideapi":          {"costs", "featurize", "models/cascade/cascadetest", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/decide/decidetest", "serve/policies/policiestest"},
	"serve/decision":           {"onnx/ort/orttest", "pipeline/decide/decidetest"},
	"serve/gateway":            {"experts/service", "internal/judge", "internal/parallel", "internal/storage", "models", "models/cascade/fit", "models/estimate", "models/network", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/convert", "pipeline/decide/decidetest", "pipeline/fromlog", "serve/gateway/gatewaytest", "serve/people/hours", "serve/telemetry/telemetrytest"},
	"serve/gateway/advice":     {"internal/storage"},
	"serve/gateway/expert":     {"experts/service/servicetest", "serve/gateway/gatewaytest"},
	"serve/gateway/patience":   {"internal/storage"},
	"serve/gateway/protocol":   {"serve/gateway/gatewaytest"},
	"serve/gateway/session":    {"internal/storage"},
	"serve/oip":                {"costs", "internal/judge", "internal/storage", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/convert", "pipeline/decide/decidetest", "pipeline/decisionlog"},
	"serve/people":             {"internal/judge", "internal/realdata"},
	"serve/policies":           {"costs", "featurize", "featurize/tokenizer", "internal/realdata", "models/cascade/cascadetest", "onnx/hf/hftest", "onnx/ort/orttest", "pipeline/decide/decidetest", "serve/policies/policiestest"},
	"serve/trials":             {"onnx/ort", "onnx/ort/orttest", "pipeline/decide/decidetest"},
	"tools":                    {"costs", "featurize", "location", "onnx", "onnx/hf/hftest", "onnx/ort", "onnx/ort/orttest", "pipeline/decide/decidetest"},
	"tools/dist/npm":           {"costs", "costs/coststest", "featurize/lexical", "internal/judge", "internal/realdata", "internal/storage", "models/cascade", "models/cascade/cascadetest", "models/estimate", "models/network", "models/policy", "onnx", "onnx/hf/hftest", "onnx/ort", "onnx/ort/orttest", "pipeline/convert", "pipeline/decide", "pipeline/decide/decidetest", "pipeline/features"},
	"tools/dist/wheel":         {"internal/realdata"},
	"tools/site":               {"internal/judge"},
}

// ownedBy lists, for every module that manages memory or threads outside Go, the packages that may import it: one for
// each library that it loads.
var ownedBy = map[string][]string{
	"github.com/yalue/onnxruntime_go": {"onnx/ort"},
	"github.com/ebitengine/purego":    {"models/lightgbm", "featurize/jpegturbo"},
}

func TestImports(t *testing.T) {
	for folder, files := range goFiles(t) {
		row, known := mayImport[folder]
		if !known {
			t.Errorf("%s has no row in the import table", folder)
			continue
		}
		for _, file := range files {
			row := row
			if strings.HasSuffix(file, "_test.go") {
				row = slices.Concat(row, testsMayImport[folder])
			}
			for _, imported := range importsOf(t, file) {
				if owners, owned := ownedBy[imported]; owned && !slices.Contains(owners, folder) {
					t.Errorf("%s imports %s, which belongs to %s", file, imported, strings.Join(owners, ", "))
				}
				target, ours := strings.CutPrefix(imported, "pipe/")
				if ours && target != folder && !slices.Contains(row, target) {
					t.Errorf("%s imports %s: no such arrow from %s", file, target, folder)
				}
			}
		}
	}
}

// TestImportsOneWay checks that the table has no cycles.
func TestImportsOneWay(t *testing.T) {
	var visit func(folder string, path []string)
	visit = func(folder string, path []string) {
		if slices.Contains(path, folder) {
			t.Fatalf("the table has a cycle: %s", strings.Join(append(path, folder), " -> "))
		}
		for _, next := range mayImport[folder] {
			visit(next, append(slices.Clone(path), folder))
		}
	}
	for folder := range mayImport {
		visit(folder, nil)
	}
}

// goFiles lists the Go files of this module by folder.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := slices.Contains([]string{"third_party", "testdata", "bin", "out", "demo"}, d.Name()) ||
				len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")
			if skip {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") {
			folder := path.Dir(filepath.ToSlash(name))
			found[folder] = append(found[folder], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("found only %d packages: not run in the module's root?", len(found))
	}
	return found
}

func parseFile(t *testing.T, file string, mode parser.Mode) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, mode)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	var out []string
	for _, spec := range parseFile(t, file, parser.ImportsOnly).Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Parquet files of other programs have one reader, because the library that writes ours reads some files wrong and
// allocates whatever damaged ones claim.
func TestOneReaderOfParquet(t *testing.T) {
	for _, files := range goFiles(t) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"OpenFile(", "NewFile(", "NewReader(", "NewGenericReader[", "Read[", "ReadFile["} {
				if strings.Contains(string(text), "parquet."+call) {
					t.Errorf("%s: parquet.%s...: read Parquet by internal/parquetfile", file, call)
				}
			}
		}
	}
}
