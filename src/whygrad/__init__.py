from whygrad._methods import install
install()
