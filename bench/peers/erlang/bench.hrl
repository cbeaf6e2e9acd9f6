%% SPDX-License-Identifier: MIT

%% The next state of the generator rand:mwc59 (a multiply with carry on 59 bits), in line.
-define(NEXT(X), (((X) band 16#FFFFFFFF) * 16#7FA6502 + ((X) bsr 32))).

%% A number below N (N up to 2^27) from a state.
-define(BELOW(X, N), ((((X) band 16#FFFFFFFF) * (N)) bsr 32)).

%% A state for actor I.
-define(SEED(I), ((I) * 7919 + 88172645463325252)).
