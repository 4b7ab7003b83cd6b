package look

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What columns are called. The first word counts most.
var (
	sureIDWords = []string{
		"id", "request_id", "question_id", "query_id", "prompt_id", "sample_id", "example_id", "instance_id", "item_id", "task_id", "uuid", "uid", "guid",
	}
	idWords = slices.Concat(sureIDWords, []string{
		"key", "request", "req", "question", "query", "sample", "example", "instance", "item", "task", "case", "ticket", "message", "prompt", "image", "document", "row", "index", "idx", "", // the index of a pandas frame has no name
	})
	sureExpertWords = []string{"expert", "model", "model_name", "model_id", "llm", "engine", "service", "provider", "agent", "system"}
	expertWords     = slices.Concat(sureExpertWords, []string{
		"worker", "annotator", "retriever",
		"deployment", "backend", "classifier", "router_choice", "chosen", "action", "arm", "route",
	})
	adviceWords = []string{
		"advice", "context", "retrieval", "retriever", "strategy", "mode", "variant", "views", "view", "augmentation", "effort", "tools", "prompt_variant", "template", "setting", "query",
	}
	propensityWords = []string{"propensity", "logging_probability", "action_probability", "action_prob", "pscore"}
	chanceWords     = []string{"probability", "prob"} // of the choice, if that is the whole name, or of something else
	answerWords     = []string{"prediction", "pred", "answer", "response", "output", "completion", "reply"}
	referenceWords  = []string{"reference", "gold", "ground_truth", "truth", "expected", "target", "solution", "true_answer", "correct_answer", "answer_key"}
	labelWords      = []string{"label", "class", "true_label", "y"}
	splitWords      = []string{"split", "fold", "subset", "partition"}
	groupWords      = []string{"group", "user", "user_id", "session", "session_id", "conversation", "conversation_id", "customer", "customer_id", "page", "patient", "patient_id"}
	feeWords        = []string{"fee", "total_cost", "cost", "price", "usd", "dollars", "eur", "money", "spend"}
	// What is known only after an answer, so that it cannot decide who answers.
	laterWords = slices.Concat(feeWords, answerWords, []string{
		"tokens_in", "tokens_out", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens", "tokens", "latency", "duration", "seconds_taken",
		"elapsed", "confidence", "logprob", "output_chars", "finish", "finish_reason", "status", "feedback", "explanation", "judgement", "verdict",
		"csat", "nps", "thumbs", "upvotes", "downvotes", "refund", "refunded", "reopened", "escalated", "escalation", "complaint", "complaints", "retries",
		"handle_time", "resolution", "time_to_close", "time_to_resolve", "human_review", "error_code", "num_turns", "timeout", "timed_out",
	})
)

// valueWord is a name of a column of outcomes, and the key of the configuration that reads it.
type valueWord struct{ word, key string }

var valueWords = []valueWord{
	{"loss", "loss"},
	{"is_correct", "correct"},
	{"correct", "correct"},
	{"right", "correct"},
	{"success", "correct"},
	{"solved", "correct"},
	{"resolved", "correct"},
	{"passed", "correct"},
	{"pass", "correct"},
	{"ok", "correct"},
	{"accepted", "correct"},
	{"hit", "correct"},
	{"exact_match", "correct"},
	{"em", "correct"},
	{"accuracy", "correct"},
	{"acc", "correct"},
	{"win", "correct"},
	{"score", "score"},
	{"quality", "score"},
	{"reward", "score"},
	{"rating", "score"},
	{"grade", "score"},
	{"utility", "score"},
	{"f1", "score"},
	{"rouge", "score"},
	{"bleu", "score"},
	{"ndcg", "score"},
	{"recall", "score"},
	{"precision", "score"},
	{"stars", "score"},
	{"satisfaction", "score"},
	{"similarity", "score"},
	{"verdict", "correct"},
	{"outcome", "correct"},
	{"error", "loss"},
	{"wrong", "loss"},
	{"incorrect", "loss"},
	{"failed", "loss"},
	{"failure", "loss"},
	{"fail", "loss"},
	{"hallucinated", "loss"},
	{"hallucination", "loss"},
	{"mistake", "loss"},
	{"mistakes", "loss"},
	{"penalty", "loss"},
	{"wer", "loss"},
	{"cer", "loss"},
	{"regret", "loss"},
	{"cost", "loss"},
}

// summaries are parts of names of what is computed from the outcomes of several experts.
var summaries = regexp.MustCompile(`(^|_)(oracle|best|worst|winner|majority|consensus|agreement|votes?|correct|right)(_|$)`)

// summary reports whether a name that goes with a word for outcomes is that of a summary, such as any in any_correct.
var summary = regexp.MustCompile(`^(any|all|none|both|is|n|num|number|count|total|sum|mean|avg|average|max|min|overall|oracle|best|worst|winner|majority|consensus)$`)

// amounts are the ends of names of amounts, such as answer_len and latency_ms.
var amounts = regexp.MustCompile(`_(len|length|chars|characters|words|count|total|sum|mean|avg|max|ms|s|sec|seconds|minutes|hours|time|amount|usd|eur|tokens)$`)

// later reports whether a column is called like something that is known only after an answer, or like an amount of it.
func later(name string) bool {
	name = plain(name)
	for !likeAny(name, laterWords) {
		end := amounts.FindStringIndex(name)
		if end == nil {
			return false
		}
		name = name[:end[0]]
	}
	return true
}

// valued reports whether a column is called like an outcome.
func (t *Table) valued(name string) bool {
	return slices.ContainsFunc(valueWords, func(w valueWord) bool { return t.like(name, w.word) > 0 })
}

// like is [like] where columns are counted: f1 among f0, f1, f2 is not the score F1.
func (t *Table) like(name, word string) int {
	if word != "" && unicode.IsDigit(rune(word[len(word)-1])) && t.numbered(name) {
		return 0
	}
	return like(name, word)
}

// numbered reports whether a name ends with a number and others have the next or the previous one, as f1 among f0, f1, f2.
func (t *Table) numbered(name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(stem):])
	return err == nil && (t.find(stem+strconv.Itoa(n+1)) != nil || t.find(stem+strconv.Itoa(n-1)) != nil)
}

// states are names of properties, such as is_pro and has_human_agent: they are no models.
var states = regexp.MustCompile(`^(is|has|had|was|are|can|needs?|uses?|used|wants?)_`)

// modelled reports whether a name has that of a model or a service in it.
func modelled(name string) bool {
	return models.MatchString(plain(name)) && !states.MatchString(plain(name))
}

// models are parts of names of models and services.
var models = regexp.MustCompile(`(?i)(^|[^a-z])(small|medium|large|big|tiny|mini|nano|base|pro|cheap|strong|weak|fast|slow|gpt|o[134]|claude|gemini|gemma|llama|mi[sx]tral|qwen|deepseek|haiku|sonnet|opus|phi|command|human|expert|model|llm|bert|t5|vit|resnet|google|microsoft|amazon|azure|ibm)([^a-z]|$)`)

// sizes are words that end the name of a model. They are no advice.
var sizes = regexp.MustCompile(`(?i)^(small|medium|large|big|tiny|mini|nano|base|pro|max|ultra|turbo|instruct|chat|fast|flash|lite|preview|latest|v?\d[\w.]*|\d+b)$`)

// none are names of the absence of advice.
var none = regexp.MustCompile(`(?i)^(none|no|no[_ -]?\w+|null|nothing|plain|baseline|direct|closed[_ -]?book|zero[_ -]?shot|without.*)$`)

// plain is a name in lower case, with _ between its words.
func plain(name string) string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = '_'
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.Trim(b.String(), "_")
}

var digits = regexp.MustCompile(`^[_\d]+$`)

// like reports how well a name fits a word: 2 if it is the word, 1 if it ends with it or has a number behind it, else 0.
func like(name, word string) int {
	name = plain(name)
	rest, begins := strings.CutPrefix(name, word)
	switch {
	case name == word:
		return 2
	case word != "" && (strings.HasSuffix(name, "_"+word) || begins && digits.MatchString(rest) && !unicode.IsDigit(rune(word[len(word)-1]))):
		return 1
	}
	return 0
}

// likeAny reports whether a name fits one of some words.
func likeAny(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return like(name, w) > 0 })
}

// named are the columns that fit one of some words and that usable accepts, the best first: those that are a word, in the
// order of the words, then those that end with one.
func (t *Table) named(words []string, usable func(*Column) bool) (found []*Column) {
	for want := 2; want > 0; want-- {
		for _, word := range words {
			for _, c := range t.Columns {
				if t.like(c.Name, word) == want && usable(c) && !slices.Contains(found, c) {
					found = append(found, c)
				}
			}
		}
	}
	return found
}

// firstNamed is the first of them, nil if there is none.
func (t *Table) firstNamed(words []string, usable func(*Column) bool) *Column {
	if found := t.named(words, usable); len(found) > 0 {
		return found[0]
	}
	return nil
}
