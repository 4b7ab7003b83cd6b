package build

// Part names the part in the making as errors and inputs do, such as
// `expert "vit"`.
func (s *Setup) Part() string { return s.part }

// Subpart calls open while a part of the part in the making is the one in the
// making: the role "reformulator" is `reformulator of advice "b"`.
func (s *Setup) Subpart(role string, open func() error) error {
	whole := s.part
	defer func() { s.part = whole }()
	s.part = role + " of " + whole
	return open()
}

// Folder is where trained experts lie, and what is made once for several builds.
// It need not exist.
func (s *Setup) Folder() string { return s.folder }

// Progress is told how far long work has come while parts are made.
func (s *Setup) Progress() Progress { return s.progress }

// Input makes something that the part in the making depends on an input of the
// build: value is its digest, or a short text that stands for itself. role says
// what it is. Features also depend on inputs whose roles begin with "model".
func (s *Setup) Input(role, value string) { s.inputs[role+" of "+s.part] = value }

// Identity makes the JSON form of v the settings that the part in the making
// depends on. Settings does it for parts that depend on all of theirs.
func (s *Setup) Identity(v any) error { return s.inputs.settings(s.part, v) }

// InputJSON is Identity for something beside the settings, such as a prompt.
func (s *Setup) InputJSON(role string, v any) error {
	return s.inputs.settings(role+" of "+s.part, v)
}
