; The density at 1 of what relu(w) predicts, w uniform on [-3, 3], with a triangular noise of radius 49/20.
(set-logic QF_LRA)
(declare-const w Real)
(define-fun f () Real (ite (>= w 0) w 0))
(define-fun distance () Real (ite (>= 1 f) (- 1 f) (- f 1)))
(assert (and (<= (- 3) w) (<= w 3) (<= distance (/ 49 20))))
(define-fun weight () Real (* (/ 1 6) (- (/ 20 49) (* (/ 400 2401) distance))))
