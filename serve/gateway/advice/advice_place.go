package advice

import "pipe/serve/gateway/chatjson"

// Place says what the advice does to the beginning of a prompt, which services keep in caches.
type Place struct {
	Lead    string // what stands before the conversation, the same for every question; "": nothing, or what follows
	Changes bool   // what stands before the conversation depends on the question
	Inside  bool   // it stands before the last message of the user, so only what is before that stays the same in later turns
}

// Place returns what the advice does to the beginning of a prompt.
func (a *Advice) Place() Place {
	if a.template == nil || a.cfg.Position == chatjson.Last {
		return Place{}
	}
	if a.cfg.Position == chatjson.BeforeLast {
		return Place{Inside: true}
	}
	if a.cfg.Kind != KindFile {
		return Place{Changes: true}
	}
	one, err := render(a.template, boundary("1", nil), "1", a.text, nil)
	other, failed := render(a.template, boundary("2", nil), "2", a.text, nil)
	if err != nil || failed != nil || one != other {
		return Place{Changes: true}
	}
	return Place{Lead: a.cfg.Role + "\n" + one}
}
