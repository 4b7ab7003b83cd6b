package serve

import (
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/textlog"
)

// openTexts begins to keep the texts of decisions, if a folder is configured.
func (s *Server) openTexts() error {
	if s.config.Log.Texts.Folder == "" || s.checking {
		return nil
	}
	w, err := textlog.Open(s.config.Log.Texts, s.redactor, func(err error) {
		s.log.Error("texts of decisions could not be kept", "error", err.Error())
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, w.Close)
	s.parts.decider.KeepTexts(func(r *decisionlog.Record, text string) {
		s.metrics.Text(w.Add(textlog.Entry{ID: r.ID, Request: r.Request, Time: r.Time, Text: text}))
	})
	return nil
}
